#include "core/integer/kernels/broadcast.h"

namespace qb::integer {
namespace {

// Strides of `shape` seen as the last axes of a shape of `rank` axes; 0 for repeated axes.
std::vector<int64_t> AlignedStrides(const Shape& shape, int64_t rank) {
  std::vector<int64_t> strides(static_cast<size_t>(rank), 0);
  int64_t stride = 1;
  for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
    const size_t aligned = static_cast<size_t>(rank - shape.rank() + axis);
    strides[aligned] = shape[axis] == 1 ? 0 : stride;
    stride *= shape[axis];
  }
  return strides;
}

// True when walking `outer` once is walking `inner` to its end.
bool Joins(int64_t outer_stride, int64_t inner_stride, int64_t inner_extent) {
  return outer_stride == inner_stride * inner_extent;
}

}  // namespace

std::vector<BroadcastAxis> BroadcastAxes(const Shape& a, const Shape& b, const Shape& result) {
  const std::vector<int64_t> stride_a = AlignedStrides(a, result.rank());
  const std::vector<int64_t> stride_b = AlignedStrides(b, result.rank());
  std::vector<BroadcastAxis> reversed;
  for (int64_t axis = result.rank() - 1; axis >= 0; --axis) {
    const size_t at = static_cast<size_t>(axis);
    const BroadcastAxis next{result[axis], stride_a[at], stride_b[at]};
    if (next.extent == 1) {
      continue;
    }
    if (!reversed.empty()) {
      BroadcastAxis& inner = reversed.back();
      if (Joins(next.stride_a, inner.stride_a, inner.extent) &&
          Joins(next.stride_b, inner.stride_b, inner.extent)) {
        inner.extent *= next.extent;
        continue;
      }
    }
    reversed.push_back(next);
  }
  if (reversed.empty()) {
    reversed.push_back({1, 0, 0});
  }
  return {reversed.rbegin(), reversed.rend()};
}

}  // namespace qb::integer
