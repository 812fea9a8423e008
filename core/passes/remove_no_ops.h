// Operators that pass their operand through.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Removes Identity, a Cast to the operand's type, a Reshape, Transpose, Slice, Pad, Expand, Resize
// or Pooling that changes nothing, a Concatenate of one tensor, adding 0, multiplying by 1 and a
// Clip without bounds. Returns whether the graph changed.
absl::StatusOr<bool> RemoveNoOps(Graph& graph);

}  // namespace qb
