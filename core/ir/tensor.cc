#include "core/ir/tensor.h"

#include <cstdlib>
#include <cstring>

namespace qb {

Tensor Tensor::Allocate(TensorType type) {
  constexpr size_t kAlignment = 64;
  const size_t bytes = static_cast<size_t>(type.size_bytes());
  const size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  QB_CHECK_MSG(memory != nullptr, "out of memory for ", bytes, " bytes");
  std::memset(memory, 0, rounded);
  Tensor tensor;
  tensor.type_ = std::move(type);
  tensor.owner_ = std::shared_ptr<const void>(memory, [](const void* p) {
    std::free(const_cast<void*>(p));  // NOLINT: the allocation above is ours
  });
  tensor.data_ = memory;
  return tensor;
}

Tensor Tensor::Borrow(TensorType type, const void* data, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.type_ = std::move(type);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::Reshaped(Shape shape) const {
  QB_CHECK(shape.elements() == elements());
  Tensor tensor = *this;
  tensor.type_.shape = std::move(shape);
  return tensor;
}

bool Tensor::Equals(const Tensor& other) const {
  return type_ == other.type_ &&
         (size_bytes() == 0 ||
          std::memcmp(data_, other.data_, static_cast<size_t>(size_bytes())) == 0);
}

}  // namespace qb
