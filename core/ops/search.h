// ArgMax, ArgMin, TopKValues, TopKIndices, CumSum: along one axis.
#pragma once

#include <cstdint>

#include "core/ops/op_def.h"

namespace qb {

// The index of the extreme element along `axis` (>= 0), as int64; of equal ones the first, or the
// last. NaN is never chosen unless nothing else is there.
struct ArgAttrs final : AttributesOf<ArgAttrs> {
  int64_t axis = 0;
  bool keep_dims = true;
  bool select_last = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("keep_dims", self.keep_dims);
    visit("select_last", self.select_last);
  }
};

// The `k` largest (or smallest) elements along `axis` (>= 0) in order, of equal ones the one of
// lower index first; k <= the axis. TopKValues has the operand's element type, TopKIndices int64.
struct TopKAttrs final : AttributesOf<TopKAttrs> {
  int64_t axis = 0;
  int64_t k = 1;
  bool largest = true;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("k", self.k);
    visit("largest", self.largest);
  }
};

// Running sums along `axis` (>= 0); exclusive: without the element itself; reverse: from the end.
struct CumSumAttrs final : AttributesOf<CumSumAttrs> {
  int64_t axis = 0;
  bool exclusive = false;
  bool reverse = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("exclusive", self.exclusive);
    visit("reverse", self.reverse);
  }
};

absl::StatusOr<TensorType> InferArg(const InferenceInput& input);
absl::StatusOr<TensorType> InferTopKValues(const InferenceInput& input);
absl::StatusOr<TensorType> InferTopKIndices(const InferenceInput& input);
absl::StatusOr<TensorType> InferCumSum(const InferenceInput& input);

}  // namespace qb
