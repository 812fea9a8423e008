// Walking two operands that broadcast to one result, in runs where each operand either advances with
// the result or stands still.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/shape.h"

namespace qb::integer {

struct BroadcastAxis {
  int64_t extent = 1;
  int64_t stride_a = 0, stride_b = 0;  // elements; 0 where the operand is repeated
};

// The axes of the result, outermost first, neighbours joined where both operands allow it; at least
// one. The innermost axis has strides of 0 or 1. Precondition: the shapes broadcast to `result`.
std::vector<BroadcastAxis> BroadcastAxes(const Shape& a, const Shape& b, const Shape& result);

// Calls run(a, b, y, axis) for every innermost run, y rising by axis.extent.
template <typename Run>
void ForEachRun(const std::vector<BroadcastAxis>& axes, Run&& run) {
  const BroadcastAxis& inner = axes.back();
  const size_t outer = axes.size() - 1;
  std::vector<int64_t> index(outer, 0);
  int64_t a = 0;
  int64_t b = 0;
  int64_t y = 0;
  while (true) {
    run(a, b, y, inner);
    y += inner.extent;
    size_t axis = outer;
    while (axis > 0) {
      --axis;
      a += axes[axis].stride_a;
      b += axes[axis].stride_b;
      if (++index[axis] < axes[axis].extent) {
        break;
      }
      a -= axes[axis].stride_a * axes[axis].extent;
      b -= axes[axis].stride_b * axes[axis].extent;
      index[axis] = 0;
      if (axis == 0) {
        return;
      }
    }
    if (outer == 0) {
      return;
    }
  }
}

}  // namespace qb::integer
