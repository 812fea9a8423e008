// The negation inside a rotary position embedding goes into its table.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// concat(.., -a, ..) * c, where c is a float32 constant with a value for each place of the
// concatenated axis, becomes concat(.., a, ..) * c' with the sign in c'. The concatenation must
// have no other use. A rotary embedding is x * cos + concat(-x[h..], x[..h]) * sin.
absl::StatusOr<bool> FoldRotationSign(Graph& graph);

}  // namespace qb
