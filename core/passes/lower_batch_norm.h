// Batch normalization of inference is a scale and a shift per channel.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// A float32 Batchnorm with constant parameters becomes Multiply and Adding with constants of shape
// [C, 1, ...], which fold_affine then moves into a neighbouring convolution or matrix product. The
// scale and the shift are computed in double. One whose scale or shift is not finite stays.
// Returns whether the graph changed.
absl::StatusOr<bool> LowerBatchNorm(Graph& graph);

}  // namespace qb
