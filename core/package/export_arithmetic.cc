// Elementwise work, products and reductions.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/normalization.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"
#include "core/ops/prelu.h"
#include "core/ops/reduce.h"
#include "core/package/graph_exporter.h"

namespace qb {
namespace {

// Operators of ONNX with the same name and no attributes.
bool HasOnnxName(OpKind op) {
  switch (op) {
    case OpKind::kIdentity:
    case OpKind::kRelu:
    case OpKind::kTanh:
    case OpKind::kExp:
    case OpKind::kLog:
    case OpKind::kSqrt:
    case OpKind::kAbs:
    case OpKind::kNeg:
    case OpKind::kErf:
    case OpKind::kCeil:
    case OpKind::kFloor:
    case OpKind::kSoftplus:
    case OpKind::kSoftsign:
    case OpKind::kRound:
    case OpKind::kSign:
    case OpKind::kSin:
    case OpKind::kCos:
    case OpKind::kTan:
    case OpKind::kAsin:
    case OpKind::kAcos:
    case OpKind::kAtan:
    case OpKind::kSinh:
    case OpKind::kCosh:
    case OpKind::kAsinh:
    case OpKind::kAcosh:
    case OpKind::kAtanh:
      return true;
    default:
      return false;
  }
}

absl::string_view ElementwiseName(OpKind op) {
  switch (op) {
    case OpKind::kAdding:
      return "Add";
    case OpKind::kSub:
      return "Sub";
    case OpKind::kMultiply:
      return "Mul";
    case OpKind::kDiv:
      return "Div";
    case OpKind::kPow:
      return "Pow";
    case OpKind::kMaximum:
      return "Max";
    default:
      return "Min";
  }
}

// `value` times a number; as it is for 1.
std::string Scaled(OnnxBuilder& builder, const std::string& value, float factor) {
  if (factor == 1.0f) {
    return value;
  }
  return builder.AddNode("Mul", absl::StrCat(value, "/scaled"),
                         {value, builder.AddFloats(absl::StrCat(value, "/factor"), {}, {factor})});
}

std::string HardSwish(OnnxBuilder& builder, const std::string& name, const std::string& x) {
  const std::string gate = builder.AddNode("HardSigmoid", absl::StrCat(name, "/gate"), {x},
                                           {{"alpha", 1.0f / 6.0f}, {"beta", 0.5f}});
  return builder.AddNode("Mul", name, {x, gate});
}

std::string Swish(OnnxBuilder& builder, const std::string& name, const std::string& x) {
  const std::string gate = builder.AddNode("Sigmoid", absl::StrCat(name, "/gate"), {x});
  return builder.AddNode("Mul", name, {x, gate});
}

std::string Number(OnnxBuilder& builder, const std::string& name, float value) {
  return builder.AddFloats(absl::StrCat(name, "/number"), {}, {value});
}

// x / 2 * (1 + erf(x / sqrt 2)), or the form with tanh.
std::string Gelu(OnnxBuilder& builder, const std::string& name, const std::string& x,
                 bool approximate) {
  const auto op = [&](absl::string_view kind, const std::vector<std::string>& operands) {
    return builder.AddNode(kind, absl::StrCat(name, "/", kind), operands);
  };
  std::string inner;
  if (approximate) {
    const std::string cube = op("Mul", {op("Mul", {x, x}), x});
    const std::string bent = op("Add", {x, op("Mul", {cube, Number(builder, name, 0.044715f)})});
    inner = op("Tanh", {op("Mul", {bent, Number(builder, name, 0.7978845608f)})});
  } else {
    inner = op("Erf", {op("Mul", {x, Number(builder, name, 0.70710678118f)})});
  }
  const std::string gate = op("Add", {inner, Number(builder, name, 1.0f)});
  const std::string half = op("Mul", {x, Number(builder, name, 0.5f)});
  return builder.AddNode("Mul", name, {half, gate});
}

std::string Mish(OnnxBuilder& builder, const std::string& name, const std::string& x) {
  const std::string soft = builder.AddNode("Softplus", absl::StrCat(name, "/softplus"), {x});
  const std::string gate = builder.AddNode("Tanh", absl::StrCat(name, "/gate"), {soft});
  return builder.AddNode("Mul", name, {x, gate});
}

// Those with attributes of their own. Empty for an operator without a form.
std::string ParametricValue(OnnxBuilder& builder, const Node& node, const std::string& x) {
  const std::string& name = node.name();
  switch (node.op()) {
    case OpKind::kCelu:
      return builder.AddNode("Celu", name, {x}, {{"alpha", node.attrs<CeluAttrs>().alpha}});
    case OpKind::kSelu: {
      const auto& attrs = node.attrs<SeluAttrs>();
      return builder.AddNode("Selu", name, {x}, {{"alpha", attrs.alpha}, {"gamma", attrs.gamma}});
    }
    case OpKind::kShrink: {
      const auto& attrs = node.attrs<ShrinkAttrs>();
      return builder.AddNode("Shrink", name, {x}, {{"lambd", attrs.lambd}, {"bias", attrs.bias}});
    }
    case OpKind::kThresholdedRelu:
      return builder.AddNode("ThresholdedRelu", name, {x},
                             {{"alpha", node.attrs<ThresholdedReluAttrs>().alpha}});
    case OpKind::kGelu:
      return Gelu(builder, name, x, node.attrs<GeluAttrs>().approximate);
    case OpKind::kMish:
      return Mish(builder, name, x);
    default:
      return "";
  }
}

// Empty for an operator without a form.
std::string PointwiseValue(OnnxBuilder& builder, const Node& node, const std::string& x) {
  const std::string& name = node.name();
  if (HasOnnxName(node.op())) {
    return builder.AddNode(OpDefOf(node.op()).name, name, {x});
  }
  switch (node.op()) {
    case OpKind::kLeakyRelu:
      return builder.AddNode("LeakyRelu", name, {x},
                             {{"alpha", node.attrs<LeakyReluAttrs>().leaky_alpha}});
    case OpKind::kElu:
      return builder.AddNode("Elu", name, {x}, {{"alpha", node.attrs<EluAttrs>().leaky_alpha}});
    case OpKind::kClip: {
      const auto& attrs = node.attrs<ClipAttrs>();
      return builder.AddNode(
          "Clip", name,
          {x, builder.AddFloats(absl::StrCat(name, "/min"), {}, {attrs.clip_min_value}),
           builder.AddFloats(absl::StrCat(name, "/max"), {}, {attrs.clip_max_value})});
    }
    case OpKind::kSigmoid:
      return builder.AddNode("Sigmoid", name,
                             {Scaled(builder, x, node.attrs<SigmoidAttrs>().alpha)});
    case OpKind::kHardSigmoid: {
      const auto& attrs = node.attrs<HardSigmoidAttrs>();
      return builder.AddNode("HardSigmoid", name, {x},
                             {{"alpha", attrs.alpha}, {"beta", attrs.beta}});
    }
    case OpKind::kHardSwish:
      return HardSwish(builder, name, x);
    case OpKind::kSwish:
      return Swish(builder, name, x);
    default:
      return ParametricValue(builder, node, x);
  }
}

}  // namespace

absl::Status ExportPointwise(GraphExporter& out, const Node& node) {
  const bool first = out.PrefersChannelsFirst(node);
  if (node.op() == OpKind::kClip && node.type().dtype != DType::kFloat32) {
    return NoOnnxForm(node, absl::StrCat("a clamp of ", DTypeName(node.type().dtype)));
  }
  const Node* operand = node.operand(0);
  std::string value =
      PointwiseValue(out.builder(), node, first ? out.ChannelsFirst(operand) : out.Plain(operand));
  if (value.empty()) {
    return NoOnnxForm(node, "the function has no form in plain ONNX here");
  }
  out.Set(&node, first, std::move(value));
  return absl::OkStatus();
}

absl::Status ExportCast(GraphExporter& out, const Node& node) {
  const bool first = out.PrefersChannelsFirst(node);
  const Node* operand = node.operand(0);
  out.Set(&node, first,
          out.builder().AddNode("Cast", node.name(),
                                {first ? out.ChannelsFirst(operand) : out.Plain(operand)},
                                {{"to", static_cast<int64_t>(node.type().dtype)}}));
  return absl::OkStatus();
}

absl::Status ExportElementwise(GraphExporter& out, const Node& node) {
  const bool first = out.PrefersChannelsFirst(node);
  std::vector<std::string> operands;
  for (const Node* operand : node.operands()) {
    operands.push_back(first ? out.BroadcastChannelsFirst(operand) : out.Plain(operand));
  }
  out.Set(&node, first,
          out.Activated(node.attrs<ElementwiseAttrs>().activation,
                        out.builder().AddNode(ElementwiseName(node.op()), node.name(), operands)));
  return absl::OkStatus();
}

absl::Status ExportPRelu(GraphExporter& out, const Node& node) {
  const bool first = out.PrefersChannelsFirst(node);
  const Node* input = node.operand(PReluOperands::kInput);
  const Node* slope = node.operand(PReluOperands::kSlope);
  out.Set(&node, first,
          out.builder().AddNode("PRelu", node.name(),
                                {first ? out.ChannelsFirst(input) : out.Plain(input),
                                 first ? out.BroadcastChannelsFirst(slope) : out.Plain(slope)}));
  return absl::OkStatus();
}

absl::Status ExportMatMul(GraphExporter& out, const Node& node) {
  OnnxBuilder& builder = out.builder();
  const bool has_bias = node.operand_count() > MatMulAttrs::kBias;
  std::string value = builder.AddNode(
      "MatMul", has_bias ? absl::StrCat(node.name(), "/product") : node.name(),
      {out.Plain(node.operand(MatMulAttrs::kA)), out.Plain(node.operand(MatMulAttrs::kB))});
  if (has_bias) {
    value =
        builder.AddNode("Add", node.name(), {value, out.Plain(node.operand(MatMulAttrs::kBias))});
  }
  out.Set(&node, false, out.Activated(node.attrs<MatMulAttrs>().activation, std::move(value)));
  return absl::OkStatus();
}

absl::Status ExportSoftmax(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<SoftmaxAttrs>();
  const bool first = out.PrefersChannelsFirst(node);
  const Node* operand = node.operand(0);
  const std::string logits =
      Scaled(out.builder(), first ? out.ChannelsFirst(operand) : out.Plain(operand), attrs.beta);
  out.Set(&node, first,
          out.builder().AddNode("Softmax", node.name(), {logits},
                                {{"axis", first ? ChannelsFirstAxis(attrs.axis) : attrs.axis}}));
  return absl::OkStatus();
}

absl::Status ExportReduce(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<ReduceAttrs>();
  OnnxBuilder& builder = out.builder();
  const std::string x = out.Plain(node.operand(0));
  const NamedAttr keep = {"keepdims", int64_t{attrs.keep_dims ? 1 : 0}};
  const absl::string_view op = OpDefOf(node.op()).name;
  // ReduceSum takes its axes as an operand since opset 13, the others since 18.
  const bool as_operand = node.op() == OpKind::kReduceSum || builder.opset() >= 18;
  out.Set(&node, false,
          as_operand ? builder.AddNode(op, node.name(),
                                       {x, builder.AddInt64s(absl::StrCat(node.name(), "/axes"),
                                                             attrs.reduce_axes)},
                                       {keep})
                     : builder.AddNode(op, node.name(), {x}, {keep, {"axes", attrs.reduce_axes}}));
  return absl::OkStatus();
}

}  // namespace qb
