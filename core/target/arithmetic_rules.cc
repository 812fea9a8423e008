// Rules of matrix products, elementwise operators and normalizations.
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/normalization.h"
#include "core/ops/prelu.h"
#include "core/target/constraint_rules.h"

namespace qb {
namespace {

constexpr int64_t kMostNormalized = 32768;

bool IsFloatConstant(const Node& node) {
  return node.is_constant() && node.type().dtype == DType::kFloat32;
}

bool HasZero(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return std::find(values.begin(), values.end(), 0.0f) != values.end();
}

bool AllFinite(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace

Finding MatrixOperands(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kMatMul || IsProductWithConstant(node)) {
    return std::nullopt;
  }
  const Shape& a = node.operand(MatMulAttrs::kA)->shape();
  const Shape& b = node.operand(MatMulAttrs::kB)->shape();
  if (a.rank() < 2 || b.rank() < 2) {
    return absl::StrCat(a.ToString(), " and ", b.ToString());
  }
  if (node.operand_count() > MatMulAttrs::kBias) {
    return absl::StrCat("a bias, and '", node.operand(MatMulAttrs::kB)->name(), "' of shape ",
                        b.ToString());
  }
  return std::nullopt;
}

Finding OneVaryingOperand(const Node& node, const SupportContext& context) {
  if (!IsOneOf(node.op(), {OpKind::kDiv, OpKind::kPow, OpKind::kMaximum, OpKind::kMinimum}) ||
      context.closures.SourceOf(&node) != nullptr) {
    return std::nullopt;  // a table
  }
  if (node.op() == OpKind::kDiv && IsFloatConstant(*node.operand(1))) {
    return HasZero(node.operand(1)->constant())
               ? Finding(absl::StrCat("a zero in '", node.operand(1)->name(), "'"))
               : Finding();
  }
  return absl::StrCat("'", node.operand(0)->name(), "' and '", node.operand(1)->name(), "'");
}

// One slope, or slopes that differ along the channels only; these come last.
Finding ChannelSlopes(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kPRelu) {
    return std::nullopt;
  }
  const Node* slope = node.operand(PReluOperands::kSlope);
  if (!IsFloatConstant(*slope)) {
    return absl::StrCat("'", slope->name(), "', which another operator computes");
  }
  const Shape& shape = slope->shape();
  if (shape.elements() != 1 && (shape.rank() == 0 || shape[shape.rank() - 1] != shape.elements())) {
    return absl::StrCat("slopes of shape ", shape.ToString());
  }
  return AllFinite(slope->constant()) ? Finding() : Finding("a slope that is NaN or infinite");
}

Finding PositiveBeta(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kSoftmax || node.attrs<SoftmaxAttrs>().beta > 0.0f) {
    return std::nullopt;
  }
  return absl::StrCat(node.attrs<SoftmaxAttrs>().beta);
}

Finding SampleNormalization(const Node& node, const SupportContext&) {
  if (!IsOneOf(node.op(), {OpKind::kLayerNormalization, OpKind::kRmsNormalization})) {
    return std::nullopt;
  }
  for (int64_t i = LayerNormalizationAttrs::kScale; i < node.operand_count(); ++i) {
    const Node* parameter = node.operand(i);
    if (!IsFloatConstant(*parameter)) {
      return absl::StrCat("'", parameter->name(), "', which another operator computes");
    }
    if (!AllFinite(parameter->constant())) {
      return absl::StrCat("'", parameter->name(), "', which holds NaN or an infinity");
    }
  }
  const int64_t length = node.operand(LayerNormalizationAttrs::kScale)->shape().elements();
  return length <= kMostNormalized
             ? Finding()
             : Finding(absl::StrCat("a run of ", length, " (at most ", kMostNormalized, ")"));
}

Finding LoneBatchnorm(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kBatchnorm) {
    return std::nullopt;
  }
  for (int64_t i = 1; i < node.operand_count(); ++i) {
    if (!IsFloatConstant(*node.operand(i))) {
      return absl::StrCat("'", node.operand(i)->name(), "', which another operator computes");
    }
  }
  const int64_t axis = node.attrs<BatchnormAttrs>().axis;
  if (node.shape().rank() == 4 && axis == 3) {
    return std::nullopt;
  }
  return absl::StrCat("axis ", axis, " of ", node.shape().ToString());
}

}  // namespace qb
