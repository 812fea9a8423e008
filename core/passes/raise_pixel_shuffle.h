// Spelled-out DepthToSpace and SpaceToDepth become one operator.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Reshape, Transpose, Reshape of an image through six dimensions:
//   [N, C, b, b, H, W] by 0 1 4 2 5 3, [N, b, b, C, H, W] by 0 3 4 1 5 2   DepthToSpace (crd, dcr)
//   [N, H, W, b, b, C] by 0 1 3 2 4 5                                      the same, channels last
//   [N, C, H, b, W, b] by 0 3 5 1 2 4                                      SpaceToDepth
absl::StatusOr<bool> RaisePixelShuffle(Graph& graph);

}  // namespace qb
