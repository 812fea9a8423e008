// Operators that select as many elements as the values say. Shapes are static, so their results
// have room for the most that there can be; what is not used is filled with -1. Trim says how much
// counts.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/ops/op_def.h"

namespace qb {

// NonZero (NoAttrs): x -> int64 [rank, elements], a column for each element that is not 0, in
// row-major order, then columns of -1. A scalar counts as a list of one.

// Operand: a list of int64 padded with -1 behind (or [n, k], of which the first column counts) ->
// int64 scalar: the entries before the padding. kCountUsed (NoAttrs).

// Operands: value, count (int64 scalar) -> value's type. Only the first `count` elements along
// `axis` mean something: an output of the graph is cut to them, and folding cuts a constant.
struct TrimAttrs final : AttributesOf<TrimAttrs> {
  int64_t axis = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
  }
};

enum class UniquePart { kFirst, kInverse, kCounts };

template <>
struct EnumNames<UniquePart> {
  static constexpr auto kNames = std::to_array<std::pair<UniquePart, const char*>>({
      {UniquePart::kFirst, "first"},
      {UniquePart::kInverse, "inverse"},
      {UniquePart::kCounts, "counts"},
  });
};

// The different slices of x along `axis` (>= 0), sorted or in order of appearance. first: where
// each appears first; counts: how often; both int64 [axis] padded with -1. inverse: for each slice
// the number of its group.
struct UniqueAttrs final : AttributesOf<UniqueAttrs> {
  int64_t axis = 0;
  bool sorted = true;
  UniquePart part = UniquePart::kFirst;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("sorted", self.sorted);
    visit("part", self.part);
  }
};

// Operands: boxes [batch, n, 4], scores [batch, classes, n], both float32 -> int64 [most, 3] of
// (batch, class, box), most = batch * classes * min(n, max_output_size), padded with -1. Boxes are
// corners in any order (y1, x1, y2, x2) or, with center_point_box, (x, y, width, height). A box is
// dropped when its overlap with a kept one of its class is above iou_threshold, or when its score
// is not above score_threshold (without use_score_threshold all count). Source: ONNX
// NonMaxSuppression.
struct NonMaxSuppressionAttrs final : AttributesOf<NonMaxSuppressionAttrs> {
  int64_t max_output_size = 0;
  float iou_threshold = 0.0f;
  float score_threshold = 0.0f;
  bool use_score_threshold = false;
  bool center_point_box = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("max_output_size", self.max_output_size);
    visit("iou_threshold", self.iou_threshold);
    visit("score_threshold", self.score_threshold);
    visit("use_score_threshold", self.use_score_threshold);
    visit("center_point_box", self.center_point_box);
  }
};

absl::StatusOr<TensorType> InferNonZero(const InferenceInput& input);
absl::StatusOr<TensorType> InferCountUsed(const InferenceInput& input);
absl::StatusOr<TensorType> InferTrim(const InferenceInput& input);
absl::StatusOr<TensorType> InferUnique(const InferenceInput& input);
absl::StatusOr<TensorType> InferNonMaxSuppression(const InferenceInput& input);

}  // namespace qb
