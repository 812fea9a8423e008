// The reordering between an image and the matrix product behind it.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Transpose -> Reshape to [.., K] -> (pointwise operators) -> MatMul with a constant [K, N]: the
// rows of the constant are permuted instead of the data, where the Transpose reorders only the axes
// that the Reshape joins into K. Tensors that hold their elements in another order now lose the
// name of the model's tensor. Returns whether the graph changed.
absl::StatusOr<bool> FoldTransposeIntoProduct(Graph& graph);

}  // namespace qb
