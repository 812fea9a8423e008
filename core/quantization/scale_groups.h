// Which values share scale and zero point.
#pragma once

#include <functional>

#include "absl/container/flat_hash_map.h"

#include "core/ir/node.h"
#include "core/quantization/group_member.h"
#include "core/quantization/value_scale.h"

namespace qb {

// Ranges of which one is so many times another do not share a scale.
inline constexpr double kCloseRatio = 2.0;
// Scales below this are those of values that are zero for all we know.
inline constexpr double kSmallestScale = 1e-30;

// Scale and zero point of the codes from -128 to 127 over [low, high]; zero has a code of its own,
// so the ends move by half a step at most.
void SetTwoSided(double low, double high, ValueScale& value);

// Groups of values, found again by any of their sources. Grows by Add, then by ShareOperands in
// topological order; the result depends on nothing else.
class ScaleGroups {
 public:
  using Member = GroupMember;

  // Joins `member` to the group of `source`. Thresholds: the largest; 8-bit codes for non-negative
  // values only when all members are, with a free zero point when any member is two-sided.
  void Add(const Node* source, const Member& member);

  // Unites the groups of the operands of an addition, subtraction or concatenation, when they have
  // the same kind of codes and the range of all is not twice that of one or more: beyond that the
  // smaller range would lose a bit or more, and the operator can rescale.
  void ShareOperands(const Node& node, const std::function<const Node*(const Node*)>& source_of);

  ValueScale ScaleOf(const Node* source) const;      // of 8-bit codes
  ValueScale WideScaleOf(const Node* source) const;  // of 16-bit codes

 private:
  const Node* Root(const Node* source) const;

  absl::flat_hash_map<const Node*, Member> members_;  // by root
  absl::flat_hash_map<const Node*, const Node*> parents_;
};

}  // namespace qb
