// Which row or column each output position of a nearest-neighbour resize copies.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/ops/movement.h"

namespace qb {

// For `axis` of the attributes' sizes and scales, from `from` to `to` elements. The float kernel
// itself resizes a ramp of indices, so the integer network can never disagree with it. Errors:
// those of the kernel.
absl::StatusOr<std::vector<int32_t>> NearestIndices(const ResizeAttrs& attrs, int64_t axis,
                                                    int64_t from, int64_t to);

}  // namespace qb
