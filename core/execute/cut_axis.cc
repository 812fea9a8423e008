#include "core/execute/cut_axis.h"

#include <algorithm>
#include <cstring>

#include "core/execute/kernels/axis_view.h"

namespace qb::execute {

Tensor CutAxis(const Tensor& value, int64_t axis, int64_t count) {
  const AxisView view = ViewAlong(value.shape(), axis);
  TensorType type = value.type();
  type.shape[axis] = std::clamp<int64_t>(count, 0, view.axis);
  Tensor cut = Tensor::Allocate(type);
  const int64_t row_bytes = view.inner * SizeBytes(type.dtype);
  const auto copied = static_cast<size_t>(type.shape[axis] * row_bytes);
  if (copied == 0) {
    return cut;
  }
  const char* from = static_cast<const char*>(value.raw());
  char* to = static_cast<char*>(cut.mutable_raw());
  for (int64_t o = 0; o < view.outer; ++o, from += view.axis * row_bytes, to += copied) {
    std::memcpy(to, from, copied);
  }
  return cut;
}

}  // namespace qb::execute
