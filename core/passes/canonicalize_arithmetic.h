// One spelling for what models spell in several ways.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// On float32: the constant operand of Adding, Multiply, Maximum and Minimum comes second; x - c
// becomes x + (-c), x / c becomes x * (1 / c) where 1 / c is finite, Maximum and Minimum with one
// number become Clip, and Clip(0, no bound) becomes Relu. Returns whether the graph changed.
absl::StatusOr<bool> CanonicalizeArithmetic(Graph& graph);

}  // namespace qb
