#include "core/passes/permute_tensor.h"

#include <cstring>
#include <vector>

namespace qb {

Tensor PermuteTensor(const Tensor& tensor, absl::Span<const int64_t> axes) {
  QB_CHECK(static_cast<int64_t>(axes.size()) == tensor.shape().rank());
  const std::vector<int64_t> source_strides = tensor.shape().strides();
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  for (const int64_t axis : axes) {
    dims.push_back(tensor.shape()[axis]);
    strides.push_back(source_strides[static_cast<size_t>(axis)]);
  }
  Tensor result = Tensor::Allocate({tensor.dtype(), Shape(dims)});
  const size_t size = static_cast<size_t>(SizeBytes(tensor.dtype()));
  const char* source = static_cast<const char*>(tensor.raw());
  char* out = static_cast<char*>(result.mutable_raw());
  std::vector<int64_t> index(dims.size(), 0);
  int64_t offset = 0;  // of `index` in the source, in elements
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    std::memcpy(out, source + static_cast<size_t>(offset) * size, size);
    out += size;
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) {
        break;
      }
      offset -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return result;
}

}  // namespace qb
