// Spelled-out activation functions become one operator, recognized by their values.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// A few elementwise operators that together compute, of one tensor x and scalar constants, one of
//   Gelu (with erf or with tanh), Mish, Sigmoid, Swish, Softplus, HardSigmoid (x / 6 + 1/2),
//   HardSwish
// become that operator, in whatever order they multiply, add and divide: the result is compared
// with the function at points of [-7.5, 7.5]. At most 16 operators are looked at for each function.
absl::StatusOr<bool> RaiseFunction(Graph& graph);

}  // namespace qb
