// A walk over the elements of an index tensor and their places in the data it indexes along an
// axis.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/shape.h"

namespace qb::execute {

// Calls visit(at, base) for each element `at` of `indices` in row-major order, `base` being the
// offset in `data` of that position with 0 along `axis`.
template <typename Visit>
void WalkElements(const Shape& indices, const Shape& data, int64_t axis, Visit&& visit) {
  std::vector<int64_t> strides = data.strides();
  strides[static_cast<size_t>(axis)] = 0;
  std::vector<int64_t> position(static_cast<size_t>(indices.rank()), 0);
  const int64_t count = indices.elements();
  int64_t base = 0;
  for (int64_t at = 0; at < count; ++at) {
    if (!visit(at, base)) {
      return;
    }
    for (size_t d = position.size(); d-- > 0;) {
      base += strides[d];
      if (++position[d] < indices.dims()[d]) {
        break;
      }
      base -= strides[d] * indices.dims()[d];
      position[d] = 0;
    }
  }
}

}  // namespace qb::execute
