// A Pad before an operator that pads by itself.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Folds a constant Pad of the spatial axes, which has no other use, into
//   a convolution                       padding with 0
//   average pooling without ceil_mode   padding with 0; the divisor then counts the padding
//   max pooling without ceil_mode       padding with -infinity (or the lowest float), or with at
//   most
//                                       0 where no value of the input is negative
// Pooling keeps its Pad when the padding would be as wide as the window. Returns whether the graph
// changed.
absl::StatusOr<bool> FoldPadding(Graph& graph);

}  // namespace qb
