#include "core/package/image_layout.h"

#include <algorithm>
#include <cstring>

namespace qb {

Tensor PermuteAxes(const Tensor& tensor, const std::vector<int64_t>& axes) {
  const std::vector<int64_t> strides = tensor.shape().strides();
  std::vector<int64_t> dims, steps;
  for (const int64_t axis : axes) {
    dims.push_back(tensor.shape()[axis]);
    steps.push_back(strides[static_cast<size_t>(axis)]);
  }
  Tensor result = Tensor::Allocate({tensor.dtype(), Shape(dims)});
  const size_t size = static_cast<size_t>(SizeBytes(tensor.dtype()));
  const char* from = static_cast<const char*>(tensor.raw());
  char* to = static_cast<char*>(result.mutable_raw());
  std::vector<int64_t> index(dims.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < result.elements(); ++i) {
    std::memcpy(to + static_cast<size_t>(i) * size, from + static_cast<size_t>(offset) * size,
                size);
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += steps[axis];
      if (++index[axis] < dims[axis]) {
        break;
      }
      offset -= steps[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return result;
}

Tensor ToRank4(const Tensor& tensor) {
  std::vector<int64_t> dims(static_cast<size_t>(4 - std::min<int64_t>(4, tensor.shape().rank())),
                            1);
  dims.insert(dims.end(), tensor.shape().begin(), tensor.shape().end());
  return tensor.Reshaped(Shape(dims));
}

}  // namespace qb
