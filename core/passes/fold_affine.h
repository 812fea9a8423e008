// Scales and shifts beside a convolution or a matrix product.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Multiply and Adding by one constant per channel move into the weights and the bias of the float32
// convolution or product (with constant weights) before them, or else after them; an Adding before
// a convolution only when that does not pad. The tensor between the two must have no other use.
// Returns whether the graph changed.
absl::StatusOr<bool> FoldAffine(Graph& graph);

}  // namespace qb
