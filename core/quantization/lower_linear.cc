// Convolutions (plain and transposed), matrix products and lone batch normalizations.
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/matmul.h"
#include "core/quantization/lowering.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

// A tensor for either operand of a product of two activations.
absl::StatusOr<int> OperandTensor(Lowering& lowering, const Node* operand, DType constants,
                                  int64_t rank, ValueScale& scale) {
  int tensor = -1;
  if (operand->is_constant()) {
    scale = ScaleOfConstant(operand->constant(), constants);
    tensor = lowering.AddConstant(*operand, scale);
  } else {
    scale = lowering.scale(operand);
    tensor = lowering.tensor(operand);
  }
  if (operand->shape().rank() == rank) {
    return tensor;
  }
  // Leading axes of 1 until both operands have one rank.
  std::vector<int64_t> dims(static_cast<size_t>(rank - operand->shape().rank()), 1);
  dims.insert(dims.end(), operand->shape().begin(), operand->shape().end());
  const std::string name = absl::StrCat(operand->name(), "/ranked");
  const int ranked = lowering.AddTensor(name, Shape(dims), scale);
  lowering.AddLayer(name, {tensor}, ranked, integer::ReshapeParams{});
  return ranked;
}

}  // namespace

absl::Status LowerLinear(Lowering& lowering, const Node* node) {
  QB_ASSIGN_OR_RETURN(const LinearForm form, LinearFormOf(*node));
  QB_ASSIGN_OR_RETURN(integer::ConvParams conv,
                      QuantizeLinear(*node, form,
                                     {lowering.scale(form.input), lowering.scale(node),
                                      lowering.plan().settings().WeightBits(node)}));
  if (form.transposed) {
    lowering.AddLinearLayer(
        node, lowering.AddValue(node),
        integer::ConvTransposeParams{std::move(conv), form.out_pad_bottom, form.out_pad_right});
  } else {
    lowering.AddLinearLayer(node, lowering.AddValue(node), std::move(conv));
  }
  return absl::OkStatus();
}

absl::Status LowerMatMul(Lowering& lowering, const Node* node) {
  if (IsLinear(*node)) {
    return LowerLinear(lowering, node);
  }
  const Node* a = node->operand(MatMulAttrs::kA);
  const Node* b = node->operand(MatMulAttrs::kB);
  if (a->shape().rank() < 2 || b->shape().rank() < 2) {
    return UnsupportedLayer(*node, "a vector operand; matrices are accepted");
  }
  if (node->operand_count() > MatMulAttrs::kBias) {
    return UnsupportedLayer(*node, "a bias on a product whose right side varies");
  }
  const int64_t rank = std::max(a->shape().rank(), b->shape().rank());
  ValueScale scale_a, scale_b;
  const ValueScale& scale = lowering.scale(node);
  QB_ASSIGN_OR_RETURN(const int tensor_a, OperandTensor(lowering, a, scale.dtype, rank, scale_a));
  QB_ASSIGN_OR_RETURN(const int tensor_b, OperandTensor(lowering, b, scale.dtype, rank, scale_b));
  const CodeRange codes = CodesOf(node->attrs<MatMulAttrs>().activation, scale);
  integer::MatMulParams params;
  params.requant = RequantFor(static_cast<double>(scale_a.scale) * scale_b.scale / scale.scale);
  params.clamp_min = codes.low;
  params.clamp_max = codes.high;
  lowering.AddLayer(node->name(), {tensor_a, tensor_b}, lowering.AddValue(node), params);
  return absl::OkStatus();
}

}  // namespace qb
