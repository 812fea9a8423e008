#include "core/quantization/lowering.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/ops/op_def.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

struct LoweringRow {
  OpKind op;
  absl::Status (*lower)(Lowering& lowering, const Node* node);
};

// Operators with an integer form of their own. Pointwise ones are lookup tables and not listed.
constexpr auto kRows = std::to_array<LoweringRow>({
    {OpKind::kConvolution, LowerLinear},
    {OpKind::kTransposeConvolution, LowerLinear},
    {OpKind::kBatchnorm, LowerLinear},
    {OpKind::kMatMul, LowerMatMul},
    {OpKind::kAdding, LowerElementwise},
    {OpKind::kSub, LowerElementwise},
    {OpKind::kMultiply, LowerElementwise},
    {OpKind::kDiv, LowerElementwise},
    {OpKind::kPRelu, LowerPRelu},
    {OpKind::kSoftmax, LowerSoftmax},
    {OpKind::kLayerNormalization, LowerNormalization},
    {OpKind::kRmsNormalization, LowerNormalization},
    {OpKind::kPooling, LowerPooling},
    {OpKind::kGlobalAveragePooling, LowerGlobalPooling},
    {OpKind::kReduceMean, LowerReduce},
    {OpKind::kReduceSum, LowerReduce},
    {OpKind::kReduceMax, LowerReduceMax},
    {OpKind::kReshape, LowerReshape},
    {OpKind::kTranspose, LowerTranspose},
    {OpKind::kConcatenate, LowerConcatenate},
    {OpKind::kSlice, LowerSlice},
    {OpKind::kGather, LowerGather},
    {OpKind::kExpand, LowerExpand},
    {OpKind::kPad, LowerPad},
    {OpKind::kResize, LowerResize},
    {OpKind::kDepthToSpace, LowerDepthToSpace},
    {OpKind::kSpaceToDepth, LowerSpaceToDepth},
});

}  // namespace

absl::Status UnsupportedLayer(const Node& node, absl::string_view what) {
  return Failure(FailureCode::kUnsupportedOperator,
                 absl::StrCat("quantization: layer '", node.name(), "' (", OpDefOf(node.op()).name,
                              "): ", what));
}

const integer::ConvParams& ConvOf(const integer::Layer& layer) {
  const auto* transposed = std::get_if<integer::ConvTransposeParams>(&layer.params);
  return transposed == nullptr ? std::get<integer::ConvParams>(layer.params) : transposed->conv;
}

ValueScale ScaleOfConstant(const Tensor& constant, DType dtype) {
  double low = 0.0, high = 0.0;
  for (const float value : constant.values<float>()) {
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
  }
  ValueScale scale;
  scale.dtype = dtype;
  scale.threshold = std::max(high, -low);
  double levels = 32767.0;
  if (dtype == DType::kInt8) {
    scale.zero_point = low >= 0.0 ? -128 : 0;
    levels = low >= 0.0 ? 255.0 : 127.0;
  }
  const double step = scale.threshold / levels;
  scale.scale = step < 1e-30 ? 1.0f : static_cast<float>(step);
  return scale;
}

int Lowering::AddTensor(std::string name, Shape shape, const ValueScale& scale) {
  integer::TensorInfo info;
  info.name = std::move(name);
  info.dtype = scale.dtype;
  info.shape = std::move(shape);
  info.scale = scale.scale;
  info.zero_point = scale.zero_point;
  info.channel_factors = scale.channel_factors;
  info.channel_zero_points = scale.channel_zero_points;
  info.channel_axis = scale.channel_axis;
  lowered_.network.tensors.push_back(std::move(info));
  return static_cast<int>(lowered_.network.tensors.size()) - 1;
}

int Lowering::AddFloat(std::string name, Shape shape) {
  integer::TensorInfo info;
  info.name = std::move(name);
  info.dtype = DType::kFloat32;
  info.shape = std::move(shape);
  lowered_.network.tensors.push_back(std::move(info));
  return static_cast<int>(lowered_.network.tensors.size()) - 1;
}

int Lowering::AddValue(const Node* node) {
  const int tensor = AddTensor(node->name(), node->shape(), scale(node));
  tensors_[node] = tensor;
  return tensor;
}

int Lowering::TensorAs(const Node* node, const ValueScale& wanted) {
  const ValueScale& held = scale(node);
  const int from = tensor(node);
  if (held == wanted) {
    return from;
  }
  const auto [found, inserted] =
      rescaled_.try_emplace(std::tuple(from, wanted.dtype, wanted.scale, wanted.zero_point), -1);
  if (inserted) {
    const std::string name =
        absl::StrCat(node->name(), "/", wanted.dtype == DType::kInt16 ? "wide" : "narrow");
    found->second = AddTensor(name, node->shape(), wanted);
    AddLayer(name, {from}, found->second,
             integer::RequantParams{RequantFor(static_cast<double>(held.scale) / wanted.scale)});
  }
  return found->second;
}

int Lowering::AddConstant(const Node& constant, const ValueScale& scale) {
  const int tensor = AddTensor(constant.name(), constant.shape(), scale);
  integer::ConstantTensor value;
  value.tensor = tensor;
  for (const float real : constant.constant().values<float>()) {
    const uint32_t code = static_cast<uint32_t>(CodeOf(real, scale));
    value.bytes.push_back(static_cast<uint8_t>(code));
    if (scale.dtype == DType::kInt16) {
      value.bytes.push_back(static_cast<uint8_t>(code >> 8));
    }
  }
  lowered_.network.constants.push_back(std::move(value));
  return tensor;
}

void Lowering::AddLayer(std::string name, std::vector<int> inputs, int output,
                        integer::LayerParams params) {
  lowered_.network.layers.push_back(
      {std::move(name), std::move(inputs), output, std::move(params)});
}

void Lowering::AddLinearLayer(const Node* node, int output, integer::LayerParams params) {
  lowered_.linear_layers.push_back({node, lowered_.network.layers.size()});
  AddLayer(node->name(), {tensor(node->operand(0))}, output, std::move(params));
}

void Lowering::NoteTable(const Node* source, const Node* table) {
  for (LoweredNetwork::LinearLayer& linear : lowered_.linear_layers) {
    if (linear.node == source) {
      linear.table_node = table;
      linear.table = lowered_.network.layers.size();
    }
  }
}

absl::Status Lowering::LowerValue(const Node* node) {
  if (plan_.closures().SourceOf(node) != nullptr) {
    return LowerLookup(*this, node);
  }
  if (node->op() == OpKind::kInput) {
    const int input = AddFloat(node->name(), node->shape());
    lowered_.network.inputs.push_back(input);
    const int codes = AddTensor(absl::StrCat(node->name(), "/codes"), node->shape(), scale(node));
    tensors_[node] = codes;
    AddLayer(absl::StrCat(node->name(), "/quantize"), {input}, codes, integer::QuantizeParams{});
    return absl::OkStatus();
  }
  for (const LoweringRow& row : kRows) {
    if (row.op == node->op()) {
      return row.lower(*this, node);
    }
  }
  return UnsupportedLayer(*node, "the operator has no integer form");
}

void Lowering::LowerOutputs() {
  for (const Node* output : plan_.graph().outputs()) {
    const Node* value = output->operand(0);
    const int real = AddFloat(output->name(), value->shape());
    AddLayer(absl::StrCat(output->name(), "/dequantize"), {tensor(value)}, real,
             integer::DequantizeParams{});
    lowered_.network.outputs.push_back(real);
  }
}

absl::StatusOr<LoweredNetwork> Lowering::Run() {
  lowered_.network.name = plan_.graph().name();
  for (const Node* output : plan_.graph().outputs()) {
    if (output->operand(0)->is_constant()) {
      return UnsupportedLayer(*output, "the output is a constant");
    }
  }
  // Inputs first, in the declared order, whether anything uses them or not.
  for (const Node* input : plan_.graph().inputs()) {
    QB_RETURN_IF_ERROR(LowerValue(input));
  }
  for (const Node* node : plan_.values()) {
    if (node->op() == OpKind::kInput) {
      continue;
    }
    const bool varies = std::any_of(node->operands().begin(), node->operands().end(),
                                    [](const Node* operand) { return !operand->is_constant(); });
    if (!varies) {
      return UnsupportedLayer(*node, "all operands are constant");
    }
    QB_RETURN_IF_ERROR(LowerValue(node));
  }
  LowerOutputs();
  return std::move(lowered_);
}

absl::StatusOr<LoweredNetwork> Lower(const QuantizationPlan& plan, const ValueScales& scales) {
  return Lowering(plan, scales).Run();
}

}  // namespace qb
