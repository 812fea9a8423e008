// A shape seen from one of its axes.
#pragma once

#include <cstdint>

#include "core/ir/shape.h"

namespace qb::execute {

// [outer, axis, inner]: the dimensions before, at and after an axis, each joined to one.
struct AxisView {
  int64_t outer = 1;
  int64_t axis = 1;
  int64_t inner = 1;
};

// Precondition: 0 <= axis < rank.
inline AxisView ViewAlong(const Shape& shape, int64_t axis) {
  AxisView view;
  view.axis = shape[axis];
  for (int64_t d = 0; d < axis; ++d) {
    view.outer *= shape[d];
  }
  for (int64_t d = axis + 1; d < shape.rank(); ++d) {
    view.inner *= shape[d];
  }
  return view;
}

}  // namespace qb::execute
