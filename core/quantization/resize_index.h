// Which rows or columns each output position of a resize is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/ops/movement.h"

namespace qb {

// For `axis` of the attributes' sizes and scales, from `from` to `to` elements. The float kernel
// itself resizes a ramp of indices, so the integer network can never disagree with it. Errors:
// those of the kernel.
absl::StatusOr<std::vector<int32_t>> NearestIndices(const ResizeAttrs& attrs, int64_t axis,
                                                    int64_t from, int64_t to);

// The same for a linear resize: between which two elements a position lies, and where between them.
absl::StatusOr<integer::LinearAxis> LinearPlaces(const ResizeAttrs& attrs, int64_t axis,
                                                 int64_t from, int64_t to, int32_t fraction_bits);

}  // namespace qb
