// Lookup tables, elementwise operators of two tensors, softmax.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/integer/requant.h"
#include "core/integer/tables.h"
#include "core/ops/elementwise.h"
#include "core/ops/normalization.h"
#include "core/ops/prelu.h"
#include "core/quantization/lowering.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

struct Operand {
  int tensor = -1;
  double scale = 1.0;
};

// A constant gets codes as wide as the result's.
Operand OperandOf(Lowering& lowering, const Node* node, DType constants) {
  if (node->is_constant()) {
    const ValueScale scale = ScaleOfConstant(node->constant(), constants);
    return {lowering.AddConstant(*node, scale), scale.scale};
  }
  return {lowering.tensor(node), lowering.scale(node).scale};
}

// x / constant as x * (1 / constant).
absl::StatusOr<Operand> ReciprocalOf(Lowering& lowering, const Node& div) {
  const Node* divisor = div.operand(1);
  if (!divisor->is_constant()) {
    return UnsupportedLayer(div, "the divisor varies; a constant one is accepted");
  }
  std::vector<float> reciprocals;
  for (const float value : divisor->constant().values<float>()) {
    if (value == 0.0f) {
      return UnsupportedLayer(div, "the divisor has a zero");
    }
    reciprocals.push_back(1.0f / value);
  }
  Graph scratch;
  const Node* constant = scratch.AddConstant(absl::StrCat(divisor->name(), "/reciprocal"),
                                             Tensor::OfFloats(divisor->shape(), reciprocals));
  const ValueScale scale = ScaleOfConstant(constant->constant(), lowering.plan().dtype(&div));
  return Operand{lowering.AddConstant(*constant, scale), scale.scale};
}

// Of one scale to another, within what the multipliers of an addition can hold: a larger ratio
// saturates every code but zero anyway.
double RatioOf(double from, double to) { return std::clamp(from / to, 1e-30, 0x1p29); }

}  // namespace

absl::Status LowerLookup(Lowering& lowering, const Node* node) {
  const Node* source = lowering.plan().closures().SourceOf(node);
  const auto function = [&](double x) { return lowering.plan().closures().Evaluate(node, x); };
  const int from = lowering.tensor(source);
  const int to = lowering.AddValue(node);
  integer::LutParams lookup;
  if (lowering.info(from).dtype == DType::kInt16) {
    lookup = integer::KnotTable(function, lowering.info(from), lowering.info(to));
  } else {
    lookup.table = integer::LookupTable(function, lowering.info(from), lowering.info(to));
  }
  if (lowering.plan().OnlyTableOf(source) == node) {
    lowering.NoteTable(source, node);
  }
  lowering.AddLayer(node->name(), {from}, to, std::move(lookup));
  return absl::OkStatus();
}

absl::Status LowerElementwise(Lowering& lowering, const Node* node) {
  const ValueScale& scale = lowering.scale(node);
  Operand a = OperandOf(lowering, node->operand(0), scale.dtype);
  Operand b;
  if (node->op() == OpKind::kDiv) {
    QB_ASSIGN_OR_RETURN(b, ReciprocalOf(lowering, *node));
  } else {
    b = OperandOf(lowering, node->operand(1), scale.dtype);
  }
  const CodeRange codes = CodesOf(node->attrs<ElementwiseAttrs>().activation, scale);
  integer::EltwiseParams params;
  params.clamp_min = codes.low;
  params.clamp_max = codes.high;
  if (node->op() == OpKind::kMultiply || node->op() == OpKind::kDiv) {
    params.kind = integer::EltwiseKind::kMul;
    params.mul_requant = RequantFor(a.scale * b.scale / scale.scale);
  } else {
    params.kind =
        node->op() == OpKind::kSub ? integer::EltwiseKind::kSub : integer::EltwiseKind::kAdd;
    const absl::StatusOr<integer::AddScaling> scaling =
        integer::AddScalingFromRatios(RatioOf(a.scale, scale.scale), RatioOf(b.scale, scale.scale));
    QB_CHECK_MSG(scaling.ok(), scaling.status().message());
    params.multiplier_a = scaling->multiplier_a;
    params.multiplier_b = scaling->multiplier_b;
    params.shift = scaling->shift;
  }
  lowering.AddLayer(node->name(), {a.tensor, b.tensor}, lowering.AddValue(node), params);
  return absl::OkStatus();
}

absl::Status LowerPRelu(Lowering& lowering, const Node* node) {
  // Slopes so small vanish in any code; a multiplier of zero is exact.
  constexpr double kSmallestMultiplier = 0x1p-40;
  const Node* input = node->operand(PReluOperands::kInput);
  const Node* slope = node->operand(PReluOperands::kSlope);
  const Shape& shape = slope->shape();
  const bool along_channels =
      shape.elements() == 1 || (shape.rank() > 0 && shape[shape.rank() - 1] == shape.elements());
  if (!slope->is_constant() || input->is_constant() || !along_channels) {
    return UnsupportedLayer(*node, absl::StrCat("slopes of shape ", shape.ToString(),
                                                "; a constant one, or one for each channel, is "
                                                "accepted"));
  }
  const double ratio = static_cast<double>(lowering.narrow_scale(input).scale) /
                       static_cast<double>(lowering.scale(node).scale);
  integer::PReluParams params;
  params.positive = RequantFor(ratio);
  for (const float value : slope->constant().values<float>()) {
    if (!std::isfinite(value)) {
      return UnsupportedLayer(*node, "a slope that is NaN or infinite");
    }
    const double multiplier = std::abs(static_cast<double>(value)) * ratio;
    params.negative.push_back(multiplier < kSmallestMultiplier ? integer::Requant{}
                                                               : RequantFor(multiplier));
    params.negate.push_back(value < 0.0f ? 1 : 0);
  }
  const int from = lowering.NarrowTensor(input);
  lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), std::move(params));
  return absl::OkStatus();
}

absl::Status LowerSoftmax(Lowering& lowering, const Node* node) {
  const SoftmaxAttrs& attrs = node->attrs<SoftmaxAttrs>();
  if (!(attrs.beta > 0.0f)) {
    return UnsupportedLayer(*node, absl::StrCat("beta ", attrs.beta, "; above 0 is accepted"));
  }
  const Node* logits = node->operand(0);
  const ValueScale& from_scale = lowering.scale(logits);
  const double step = static_cast<double>(from_scale.scale) * attrs.beta;
  integer::SoftmaxParams params;
  params.exp_table = from_scale.dtype == DType::kInt16 ? integer::WideSoftmaxExpTable(step)
                                                       : integer::SoftmaxExpTable(step);
  const int64_t rank = node->shape().rank();
  const int from = lowering.tensor(logits);
  if (attrs.axis == rank - 1) {
    lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), std::move(params));
    return absl::OkStatus();
  }
  // The axis goes last and comes back: a swap is its own inverse.
  integer::TransposeParams swap;
  swap.axes.resize(static_cast<size_t>(rank));
  std::iota(swap.axes.begin(), swap.axes.end(), int64_t{0});
  std::swap(swap.axes[static_cast<size_t>(attrs.axis)], swap.axes.back());
  std::vector<int64_t> dims = node->shape().dims();
  std::swap(dims[static_cast<size_t>(attrs.axis)], dims.back());
  const std::string name = node->name();
  const int in = lowering.AddTensor(absl::StrCat(name, "/last_in"), Shape(dims), from_scale);
  const int out =
      lowering.AddTensor(absl::StrCat(name, "/last_out"), Shape(dims), lowering.scale(node));
  lowering.AddLayer(absl::StrCat(name, "/to_last"), {from}, in, swap);
  lowering.AddLayer(absl::StrCat(name, "/softmax"), {in}, out, std::move(params));
  lowering.AddLayer(name, {out}, lowering.AddValue(node), swap);
  return absl::OkStatus();
}

}  // namespace qb
