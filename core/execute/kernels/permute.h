// Reordering of dimensions, for Transpose and for operators that are a reshape and a transpose.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

#include "core/execute/kernel.h"
#include "core/ir/dtype.h"

namespace qb::execute {

// A kernel that reads operand 0 under the shape `dims` and writes dimension axes[i] as dimension i.
// Precondition: axes is a permutation, dims are positive. Errors: Unimplemented for a dtype.
KernelOr MakePermutation(DType dtype, absl::Span<const int64_t> dims,
                         absl::Span<const int64_t> axes);

// [outer, rows, columns] -> [outer, columns, rows] of 4-byte elements.
void TransposeMatrices(const void* from, void* to, int64_t outer, int64_t rows, int64_t columns);

}  // namespace qb::execute
