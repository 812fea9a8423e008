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

ValueScale ScaleOfConstant(const Tensor& constant) {
  double low = 0.0, high = 0.0;
  for (const float value : constant.values<float>()) {
    low = std::min<double>(low, value);
    high = std::max<double>(high, value);
  }
  ValueScale scale;
  scale.zero_point = low >= 0.0 ? -128 : 0;
  scale.threshold = std::max(high, -low);
  const double step = scale.threshold / (low >= 0.0 ? 255.0 : 127.0);
  scale.scale = step < 1e-30 ? 1.0f : static_cast<float>(step);
  return scale;
}

int Lowering::AddTensor(std::string name, DType dtype, Shape shape, const ValueScale& scale) {
  integer::TensorInfo info;
  info.name = std::move(name);
  info.dtype = dtype;
  info.shape = std::move(shape);
  if (dtype == DType::kInt8) {
    info.scale = scale.scale;
    info.zero_point = scale.zero_point;
  }
  lowered_.network.tensors.push_back(std::move(info));
  return static_cast<int>(lowered_.network.tensors.size()) - 1;
}

int Lowering::AddValue(const Node* node) {
  const int tensor = AddTensor(node->name(), DType::kInt8, node->shape(), scale(node));
  tensors_[node] = tensor;
  return tensor;
}

int Lowering::AddConstant(const Node& constant, const ValueScale& scale) {
  const int tensor = AddTensor(constant.name(), DType::kInt8, constant.shape(), scale);
  integer::ConstantTensor value;
  value.tensor = tensor;
  for (const float real : constant.constant().values<float>()) {
    const double steps = std::clamp(static_cast<double>(real) / scale.scale, -1e6, 1e6);
    const int64_t code = std::clamp<int64_t>(scale.zero_point + RoundHalfEven(steps), -128, 127);
    value.bytes.push_back(static_cast<uint8_t>(static_cast<int8_t>(code)));
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

absl::Status Lowering::LowerValue(const Node* node) {
  if (plan_.closures().SourceOf(node) != nullptr) {
    return LowerLookup(*this, node);
  }
  if (node->op() == OpKind::kInput) {
    const int input = AddTensor(node->name(), DType::kFloat32, node->shape(), {});
    lowered_.network.inputs.push_back(input);
    const int codes =
        AddTensor(absl::StrCat(node->name(), "/codes"), DType::kInt8, node->shape(), scale(node));
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
    const int real = AddTensor(output->name(), DType::kFloat32, value->shape(), {});
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
