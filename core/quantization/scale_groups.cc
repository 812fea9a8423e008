#include "core/quantization/scale_groups.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/check.h"

namespace qb {
namespace {

ScaleGroups::Member Joined(const ScaleGroups::Member& a, const ScaleGroups::Member& b) {
  return {.threshold = std::max(a.threshold, b.threshold),
          .low = std::min(a.low, b.low),
          .high = std::max(a.high, b.high),
          .largest_seen = std::max(a.largest_seen, b.largest_seen),
          .saturation_share = std::max(a.saturation_share, b.saturation_share),
          .wide_threshold = std::max(a.wide_threshold, b.wide_threshold),
          .non_negative = a.non_negative && b.non_negative,
          .two_sided = a.two_sided || b.two_sided,
          .fixed = a.fixed && b.fixed};
}

// Two-sided codes count only where a value may be negative.
enum class CodeKind { kSymmetric, kNonNegative, kTwoSided };

CodeKind KindOf(const ScaleGroups::Member& group) {
  if (group.non_negative) {
    return CodeKind::kNonNegative;
  }
  return group.two_sided ? CodeKind::kTwoSided : CodeKind::kSymmetric;
}

// What the codes cover, up to a factor that members of one kind share.
double RangeOf(const ScaleGroups::Member& group) {
  return KindOf(group) == CodeKind::kTwoSided ? group.high - group.low : group.threshold;
}

}  // namespace

void SetTwoSided(double low, double high, ValueScale& value) {
  const double scale = (high - low) / 255.0;
  if (scale < kSmallestScale) {
    value.scale = 1.0f;
    return;
  }
  value.scale = static_cast<float>(scale);
  const double zero = std::nearbyint(-128.0 - low / static_cast<double>(value.scale));
  value.zero_point = static_cast<int32_t>(std::clamp(zero, -128.0, 127.0));
}

void ScaleGroups::Add(const Node* source, const Member& member) {
  if (parents_.find(source) == parents_.end()) {
    parents_[source] = source;
    members_[source] = member;
    return;
  }
  Member& group = members_.at(Root(source));
  const bool fixed = group.fixed;
  group = Joined(group, member);
  // Copies of a softmax keep its scale; a pad that would need negative codes ends that.
  group.fixed = fixed && group.non_negative;
}

const Node* ScaleGroups::Root(const Node* source) const {
  while (true) {
    const auto found = parents_.find(source);
    QB_CHECK(found != parents_.end());
    if (found->second == source) {
      return source;
    }
    source = found->second;
  }
}

void ScaleGroups::ShareOperands(const Node& node,
                                const std::function<const Node*(const Node*)>& source_of) {
  if (node.op() != OpKind::kAdding && node.op() != OpKind::kSub &&
      node.op() != OpKind::kConcatenate) {
    return;
  }
  std::vector<const Node*> roots;
  for (const Node* operand : node.operands()) {
    if (!operand->is_constant()) {
      roots.push_back(Root(source_of(operand)));
    }
  }
  if (roots.size() < 2) {
    return;
  }
  double smallest = std::numeric_limits<double>::infinity();
  Member all = members_.at(roots[0]);
  for (const Node* root : roots) {
    const Member& group = members_.at(root);
    if (group.fixed || KindOf(group) != KindOf(all)) {
      return;
    }
    smallest = std::min(smallest, RangeOf(group));
    all = Joined(all, group);
  }
  if (!(RangeOf(all) < kCloseRatio * smallest)) {
    return;
  }
  for (const Node* root : roots) {
    const Node* first = Root(roots[0]);
    const Node* other = Root(root);
    if (first != other) {
      members_[first] = Joined(members_.at(first), members_.at(other));
      parents_[other] = first;
    }
  }
}

ValueScale ScaleGroups::ScaleOf(const Node* source) const {
  const Member& group = members_.at(Root(source));
  ValueScale value;
  value.largest_seen = group.largest_seen;
  value.saturation_share = group.saturation_share;
  if (group.fixed) {
    value.scale = 1.0f / 256.0f;
    value.zero_point = -128;
    value.threshold = 255.0 / 256.0;
    return value;
  }
  value.threshold = group.threshold;
  if (KindOf(group) == CodeKind::kTwoSided) {
    SetTwoSided(group.low, group.high, value);
    return value;
  }
  value.zero_point = group.non_negative ? -128 : 0;
  const double scale = group.threshold / (group.non_negative ? 255.0 : 127.0);
  value.scale = scale < kSmallestScale ? 1.0f : static_cast<float>(scale);
  return value;
}

ValueScale ScaleGroups::WideScaleOf(const Node* source) const {
  const Member& group = members_.at(Root(source));
  ValueScale value;
  value.dtype = DType::kInt16;
  value.largest_seen = group.largest_seen;
  if (group.fixed) {
    value.scale = 1.0f / 32768.0f;
    value.threshold = 32767.0 / 32768.0;
    return value;
  }
  value.threshold = group.wide_threshold;
  const double scale = value.threshold / 32767.0;
  value.scale = scale < kSmallestScale ? 1.0f : static_cast<float>(scale);
  return value;
}

}  // namespace qb
