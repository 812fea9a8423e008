// Scales and shifts per channel that stayed alone.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// On a float32 image with channels last: Multiply by, or Adding of, one constant per channel (more
// than one channel), alone or in that order, becomes a depthwise 1x1 convolution. In integer
// arithmetic that is one rounding with a scale per channel, where the elementwise operators round
// twice and share one scale among all channels. Run it after the layout is decided and after
// fold_affine. Returns whether the graph changed.
absl::StatusOr<bool> LowerAffine(Graph& graph);

}  // namespace qb
