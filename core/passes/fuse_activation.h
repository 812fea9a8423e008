// Clamps into the operator that computes their operand.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// A float Relu or Clip becomes the activation of the convolution, product or elementwise operator
// before it, when it is that operator's only user; a clamp that is already there is composed. The
// fused operator takes the clamp's name. A clamp behind a max pooling or a data movement (Reshape,
// Transpose, Slice, Resize nearest, DepthToSpace, ...) first moves before it, where it can be
// fused. Returns whether the graph changed.
absl::StatusOr<bool> FuseActivation(Graph& graph);

}  // namespace qb
