// From channels first, as models are imported, to channels last, as the NPU works.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Convolution, pooling, DepthToSpace and SpaceToDepth become channel_last with weights [M, Kh, Kw,
// C]; every other operator works on tensors as they are then stored, by translated attributes and
// permuted constants. A Transpose of the model is absorbed into the order in which its operand is
// stored and costs nothing by itself. What remains is a Transpose where a tensor is needed in
// another order than it is stored: at inputs that feed images, at outputs that are images, and
// where a Reshape joins axes that are not neighbours. Inputs and outputs keep the model's layout.
//
// A graph without channel-first image operators is left alone. Returns whether the graph changed.
absl::StatusOr<bool> ConvertLayout(Graph& graph);

}  // namespace qb
