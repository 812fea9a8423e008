// Functions of one operand, element by element.
#include "core/ops/pointwise.h"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/read_tensor.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

struct PlainOp {
  absl::string_view op_type;
  OpKind kind;
};

constexpr auto kPlainOps = std::to_array<PlainOp>({
    {"Abs", OpKind::kAbs},           {"Acos", OpKind::kAcos},
    {"Acosh", OpKind::kAcosh},       {"Asin", OpKind::kAsin},
    {"Asinh", OpKind::kAsinh},       {"Atan", OpKind::kAtan},
    {"Atanh", OpKind::kAtanh},       {"Ceil", OpKind::kCeil},
    {"Cos", OpKind::kCos},           {"Cosh", OpKind::kCosh},
    {"Erf", OpKind::kErf},           {"Exp", OpKind::kExp},
    {"Floor", OpKind::kFloor},       {"HardSwish", OpKind::kHardSwish},
    {"Log", OpKind::kLog},           {"Mish", OpKind::kMish},
    {"Neg", OpKind::kNeg},           {"Relu", OpKind::kRelu},
    {"Round", OpKind::kRound},       {"Sigmoid", OpKind::kSigmoid},
    {"Sign", OpKind::kSign},         {"Sin", OpKind::kSin},
    {"Sinh", OpKind::kSinh},         {"Softplus", OpKind::kSoftplus},
    {"Softsign", OpKind::kSoftsign}, {"Sqrt", OpKind::kSqrt},
    {"Tan", OpKind::kTan},           {"Tanh", OpKind::kTanh},
});

// Clip with bounds that are tensors: what no attribute can say (integers beyond 2^24, computed
// bounds).
absl::Status ClipByNodes(NodeImporter& node, Node* input) {
  Node* value = input;
  const bool has_max = node.HasInput(2);
  if (node.HasInput(1)) {
    QB_ASSIGN_OR_RETURN(Node * least, node.Input(1, "min"));
    QB_ASSIGN_OR_RETURN(value, node.Add(has_max ? "min" : "", OpKind::kMaximum, {value, least}));
  }
  if (has_max) {
    QB_ASSIGN_OR_RETURN(Node * most, node.Input(2, "max"));
    QB_ASSIGN_OR_RETURN(value, node.Add("", OpKind::kMinimum, {value, most}));
  }
  return node.Finish(value);
}

bool IsConstantInput(NodeImporter& node, int64_t index) {
  if (!node.HasInput(index)) {
    return true;
  }
  const absl::StatusOr<Node*> input = node.Input(index, "bound");
  return input.ok() && (*input)->is_constant();
}

absl::StatusOr<float> BoundInput(NodeImporter& node, int64_t index, float none) {
  if (!node.HasInput(index)) {
    return none;
  }
  QB_ASSIGN_OR_RETURN(const std::vector<float> values, node.FloatsInput(index, "bound"));
  if (values.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a bound has ", values.size(), " elements; one is accepted"));
  }
  return values.front();
}

// A slope that is one number for all elements.
bool IsUniform(const Node* slope, float* value) {
  constexpr int64_t kMost = int64_t{1} << 16;  // one a channel; more are not worth looking at
  if (!slope->is_constant() || slope->shape().elements() > kMost) {
    return false;
  }
  const std::vector<double> values = DoublesOf(slope->constant());
  for (const double candidate : values) {
    if (candidate != values.front()) {
      return false;
    }
  }
  if (values.empty()) {
    return false;
  }
  *value = static_cast<float>(values.front());
  return true;
}

}  // namespace

absl::Status ImportPlainPointwise(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  for (const PlainOp& row : kPlainOps) {
    if (row.op_type == node.op_type()) {
      return node.Finish(node.Add("", row.kind, {input}));
    }
  }
  return absl::InternalError("a pointwise operator without a row");
}

absl::Status ImportCast(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const int64_t to, node.RequiredIntAttr("to"));
  node.IgnoreAttr("saturate");  // for 8-bit floats
  const DType dtype =
      to < 0 || to > 1000 ? DType::kUndefined : DTypeFromOnnx(static_cast<int32_t>(to));
  if (dtype == DType::kUndefined) {
    return absl::UnimplementedError(absl::StrCat(
        "a cast to ",
        to < 0 || to > 1000 ? absl::StrCat("type ", to) : OnnxTypeName(static_cast<int32_t>(to)),
        " is not supported"));
  }
  if (dtype == input->type().dtype) {
    return node.Finish(input);
  }
  CastAttrs attrs;
  attrs.dtype = std::string(DTypeName(dtype));
  return node.Finish(node.Add("", OpKind::kCast, {input}, std::move(attrs)));
}

absl::Status ImportClip(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  constexpr float kMost = std::numeric_limits<float>::max();
  ClipAttrs attrs;
  if (node.opset() < 11) {
    QB_ASSIGN_OR_RETURN(attrs.clip_min_value, node.FloatAttr("min", -kMost));
    QB_ASSIGN_OR_RETURN(attrs.clip_max_value, node.FloatAttr("max", kMost));
  } else {
    const bool constant = IsConstantInput(node, 1) && IsConstantInput(node, 2);
    if (!constant || input->type().dtype != DType::kFloat32) {
      return ClipByNodes(node, input);
    }
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    QB_ASSIGN_OR_RETURN(attrs.clip_min_value, BoundInput(node, 1, -kInfinity));
    QB_ASSIGN_OR_RETURN(attrs.clip_max_value, BoundInput(node, 2, kInfinity));
  }
  return node.Finish(node.Add("", OpKind::kClip, {input}, std::move(attrs)));
}

absl::Status ImportElu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  EluAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.leaky_alpha, node.FloatAttr("alpha", 1.0f));
  return node.Finish(node.Add("", OpKind::kElu, {input}, std::move(attrs)));
}

absl::Status ImportHardSigmoid(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  HardSigmoidAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.alpha, node.FloatAttr("alpha", 0.2f));
  QB_ASSIGN_OR_RETURN(attrs.beta, node.FloatAttr("beta", 0.5f));
  return node.Finish(node.Add("", OpKind::kHardSigmoid, {input}, std::move(attrs)));
}

absl::Status ImportLeakyRelu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  LeakyReluAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.leaky_alpha, node.FloatAttr("alpha", 0.01f));
  return node.Finish(node.Add("", OpKind::kLeakyRelu, {input}, std::move(attrs)));
}

// One slope for all elements is a LeakyRelu, which needs no second operand.
absl::Status ImportPRelu(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * slope, node.Input(1, "slope"));
  QB_ASSIGN_OR_RETURN(const Shape result, BroadcastShapes(input->shape(), slope->shape()));
  LeakyReluAttrs leaky;
  if (result == input->shape() && IsFloat(input->type().dtype) &&
      IsUniform(slope, &leaky.leaky_alpha)) {
    return node.Finish(node.Add("", OpKind::kLeakyRelu, {input}, std::move(leaky)));
  }
  return node.Finish(node.Add("", OpKind::kPRelu, {input, slope}));
}

absl::Status ImportReciprocal(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * one, node.AddScalar("one", input->type().dtype, 1.0));
  return node.Finish(node.Add("", OpKind::kDiv, {one, input}));
}

absl::Status ImportIdentity(NodeImporter& node) { return node.Finish(node.Input(0, "input")); }

absl::Status ImportDropout(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  node.IgnoreAttr("ratio");
  node.IgnoreAttr("seed");
  node.IgnoreInput(1);  // ratio
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(const Tensor training, node.ConstantInput(2, "training_mode"));
    if (training.elements() != 1 || IntegersOf(training).front() != 0) {
      return absl::UnimplementedError(
          "training_mode is not supported; export the model in evaluation mode");
    }
  }
  if (node.HasOutput(1)) {  // the mask: nothing is dropped
    QB_ASSIGN_OR_RETURN(Node * one, node.AddScalar("one", DType::kBool, 1.0));
    ExpandAttrs attrs;
    attrs.shape = input->shape().dims();
    QB_ASSIGN_OR_RETURN(Node * mask, node.Add("mask", OpKind::kExpand, {one}, std::move(attrs)));
    QB_RETURN_IF_ERROR(node.SetOutput(1, mask));
  }
  return node.Finish(input);
}

}  // namespace qb::onnx_import
