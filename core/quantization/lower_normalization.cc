// Layer and RMS normalization.
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/integer/normalization.h"
#include "core/ops/normalization.h"
#include "core/quantization/lowering.h"

namespace qb {
namespace {

// Errors: UNSUPPORTED_OPERATOR when the operand varies or holds what is no number.
absl::StatusOr<std::vector<double>> ConstantOperand(const Node& node, int64_t index) {
  const Node* operand = node.operand(index);
  if (!operand->is_constant()) {
    return UnsupportedLayer(
        node, absl::StrCat("'", operand->name(), "' varies; constant scale and bias are accepted"));
  }
  const auto values = operand->constant().values<float>();
  if (!std::all_of(values.begin(), values.end(),
                   [](float value) { return std::isfinite(value); })) {
    return UnsupportedLayer(node, absl::StrCat("'", operand->name(), "' holds NaN or an infinity"));
  }
  return std::vector<double>(values.begin(), values.end());
}

}  // namespace

absl::Status LowerNormalization(Lowering& lowering, const Node* node) {
  using Attrs = LayerNormalizationAttrs;
  const Node* input = node->operand(Attrs::kInput);
  integer::RealNormalization real;
  real.centered = node->op() == OpKind::kLayerNormalization;
  real.epsilon = static_cast<double>(real.centered ? node->attrs<Attrs>().epsilon
                                                   : node->attrs<RmsNormalizationAttrs>().epsilon);
  QB_ASSIGN_OR_RETURN(real.scale, ConstantOperand(*node, Attrs::kScale));
  if (node->operand_count() > Attrs::kBias) {
    QB_ASSIGN_OR_RETURN(real.bias, ConstantOperand(*node, Attrs::kBias));
  } else {
    real.bias.assign(real.scale.size(), 0.0);
  }
  const int64_t length = static_cast<int64_t>(real.scale.size());
  if (input->is_constant() || length < 1 || length > integer::kMostNormalized) {
    return UnsupportedLayer(*node,
                            absl::StrCat("runs of ", length, "; up to ", integer::kMostNormalized,
                                         " values that vary are accepted"));
  }
  const int from = lowering.tensor(input);
  const int to = lowering.AddValue(node);
  lowering.AddLayer(node->name(), {from}, to,
                    integer::NormalizationFromReal(real, lowering.info(from), lowering.info(to)));
  return absl::OkStatus();
}

}  // namespace qb
