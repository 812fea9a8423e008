// Activations that models spell with several operators.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// x * Sigmoid(x) becomes Swish(x), and x * HardSigmoid(x) with slope 1/6 and offset 1/2 becomes
// HardSwish(x): one rounding and one table in integer arithmetic instead of two and a product.
// Before that, Clip(x + b, 0, m) * (1 / m), as exporters spell it, becomes HardSigmoid(x), also
// when another factor stands between the Clip and the constant. The inner tensors must have no
// other use. Returns whether the graph changed.
absl::StatusOr<bool> RaiseActivation(Graph& graph);

}  // namespace qb
