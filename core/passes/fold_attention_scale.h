// The factor of an attention's scores goes where it costs nothing.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// A Multiply by one constant number s moves
//   - into the weights and bias of the convolution or product behind the Reshapes, Transposes and
//     products with another varying tensor before it;
//   - else, in softmax(s x), softmax(s x + mask) with a constant mask, and the same where s scales
//   an
//     operand of the product x, into the softmax, for s > 0.
// What stands between must have no other use.
absl::StatusOr<bool> FoldAttentionScale(Graph& graph);

}  // namespace qb
