// Spelled-out layer and RMS normalizations become one operator.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// With c = x - mean(x) and d = sqrt(var + epsilon) in any spelling of normalization_pattern.h:
//   c / d, c * (1 / d), (c * gamma) / d, c * ((1 / d) * gamma),
//   x * i + (beta - mean * i), x * i + (-mean * i + beta), x * i - mean * i, i = (1 / d) * gamma
// become LayerNormalization, and the first four with x for c and mean(x^2) for var become
// RmsNormalization. Constant factors and (of a layer normalization) a constant addend behind them
// go in, where they vary along the normalized axes only. Other axes than the last are brought there
// by a Transpose, and back.
absl::StatusOr<bool> RaiseNormalization(Graph& graph);

}  // namespace qb
