// ReduceMean, ReduceSum, ReduceMax, ReduceMin, ReduceProd.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ops/op_def.h"

namespace qb {

// Reduces over `reduce_axes` (sorted, >= 0, at least one).
struct ReduceAttrs final : AttributesOf<ReduceAttrs> {
  bool keep_dims = true;
  std::vector<int64_t> reduce_axes;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("keep_dims", self.keep_dims);
    visit("reduce_axes", self.reduce_axes);
  }
};

absl::StatusOr<TensorType> InferReduce(const InferenceInput& input);

}  // namespace qb
