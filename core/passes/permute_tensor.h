// Reordering the axes of a constant.
#pragma once

#include <cstdint>

#include "absl/types/span.h"

#include "core/ir/tensor.h"

namespace qb {

// Result axis i is the tensor's axis axes[i], as Transpose. Precondition: `axes` is a permutation
// of the tensor's axes.
Tensor PermuteTensor(const Tensor& tensor, absl::Span<const int64_t> axes);

}  // namespace qb
