// Gather with constant indices that are evenly spaced.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// A Gather with one constant index, or with constant indices of rank 1 in even steps (first, first
// + step, ...), becomes a Slice, with a Reshape behind it when the index is a scalar: it drops the
// axis. Indices out of range stay for the executor to report. Returns whether the graph changed.
absl::StatusOr<bool> LowerGather(Graph& graph);

}  // namespace qb
