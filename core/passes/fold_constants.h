// Operators on constants alone.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

struct FoldConstantsOptions {
  // A result of more bytes is folded only when it is not larger than its operands together: an
  // Expand of a scalar must not become a constant of gigabytes.
  int64_t most_result_bytes = int64_t{16} << 20;
};

// Evaluates every operator whose operands are all constant, with the kernels of the executor. What
// has no kernel stays. Returns whether the graph changed.
absl::StatusOr<bool> FoldConstants(Graph& graph, const FoldConstantsOptions& options = {});

}  // namespace qb
