#include "core/quantization/masked_scores.h"

#include <algorithm>

#include "core/ops/elementwise_value.h"
#include "core/ops/normalization.h"

namespace qb {
namespace {

constexpr double kLeastMasked = -1000.0;
// Beyond that the sum's multipliers lose what the scores need.
constexpr double kMostMask = 1e12;
constexpr double kBelowScores = 8.0;  // nats

struct Range {
  double low = 0.0, high = 0.0, threshold = 0.0;
};

std::optional<Range> RangeOf(const Node& operand, const CalibrationTable& table,
                             const std::function<const Node*(const Node*)>& source_of) {
  if (operand.is_constant()) {
    const auto values = operand.constant().values<float>();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    return values.empty() ? std::nullopt : std::optional(Range{*low, *high, 0.0});
  }
  const Node* source = source_of(&operand);
  const auto found = source == nullptr ? table.ranges.end() : table.ranges.find(source->id());
  if (found == table.ranges.end()) {
    return std::nullopt;
  }
  return Range{found->second.min, found->second.max, found->second.threshold};
}

bool IsMask(const Range& range) {
  return range.high <= 0.0 && range.low <= kLeastMasked && range.low >= -kMostMask;
}

// The smallest factor of the softmaxes that read the node; empty when something else does.
std::optional<double> LeastBeta(const Node& node) {
  std::optional<double> least;
  for (const Node* user : node.users()) {
    if (user->op() != OpKind::kSoftmax) {
      return std::nullopt;
    }
    const double beta = static_cast<double>(user->attrs<SoftmaxAttrs>().beta);
    least = std::min(least.value_or(beta), beta);
  }
  return least;
}

}  // namespace

std::optional<double> MaskedScoresThreshold(
    const Node& sum, const CalibrationTable& table,
    const std::function<const Node*(const Node*)>& source_of) {
  const std::optional<double> beta = LeastBeta(sum);
  if (!IsPlainElementwise(sum, OpKind::kAdding) || !beta.has_value() || !(*beta > 0.0)) {
    return std::nullopt;
  }
  for (const int64_t i : {0, 1}) {
    const std::optional<Range> mask = RangeOf(*sum.operand(i), table, source_of);
    const Node& scores = *sum.operand(1 - i);
    const std::optional<Range> range = RangeOf(scores, table, source_of);
    if (mask.has_value() && range.has_value() && !scores.is_constant() && IsMask(*mask) &&
        !IsMask(*range)) {
      return range->threshold + kBelowScores / *beta;
    }
  }
  return std::nullopt;
}

}  // namespace qb
