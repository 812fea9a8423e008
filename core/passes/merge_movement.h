// Data movement after data movement.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// A Reshape of a Reshape, a Transpose of a Transpose and a Slice of a Slice become one operator,
// and a Transpose that keeps the order of the elements (only axes of one element move) becomes a
// Reshape. Returns whether the graph changed.
absl::StatusOr<bool> MergeMovement(Graph& graph);

}  // namespace qb
