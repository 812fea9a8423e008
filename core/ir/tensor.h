// Tensor: elements in row-major order, owned or mapped.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "core/base/check.h"
#include "core/ir/shape.h"

namespace qb {

// Copies share the bytes (a constant is used by graph clones, by the executor and by the writer at
// once, hence the shared_ptr); write only through the handle that Allocate returned, before sharing
// it. Buffers are 64-byte aligned when allocated here. Thread-compatible.
class Tensor {
 public:
  Tensor() = default;

  // Zeroed memory.
  static Tensor Allocate(TensorType type);
  // Borrows `data`, which lives as long as `owner` does.
  static Tensor Borrow(TensorType type, const void* data, std::shared_ptr<const void> owner);
  // A copy of the values. T must be the C++ type of `dtype`.
  template <typename T>
  static Tensor Of(DType dtype, Shape shape, absl::Span<const T> values) {
    Tensor tensor = Allocate({dtype, std::move(shape)});
    QB_CHECK(SizeBytes(dtype) == static_cast<int64_t>(sizeof(T)));
    QB_CHECK(static_cast<size_t>(tensor.elements()) == values.size());
    T* out = tensor.mutable_data<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = values[i];
    }
    return tensor;
  }
  static Tensor OfFloats(Shape shape, const std::vector<float>& values) {
    return Of<float>(DType::kFloat32, std::move(shape), values);
  }
  static Tensor OfInt64s(Shape shape, const std::vector<int64_t>& values) {
    return Of<int64_t>(DType::kInt64, std::move(shape), values);
  }

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  int64_t elements() const { return type_.shape.elements(); }
  int64_t size_bytes() const { return type_.size_bytes(); }

  const void* raw() const { return data_; }
  void* mutable_raw() { return const_cast<void*>(data_); }
  // T must have the size of the dtype.
  template <typename T>
  const T* data() const {
    QB_CHECK(static_cast<int64_t>(sizeof(T)) == SizeBytes(type_.dtype));
    return static_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_data() {
    QB_CHECK(static_cast<int64_t>(sizeof(T)) == SizeBytes(type_.dtype));
    return static_cast<T*>(mutable_raw());
  }
  template <typename T>
  absl::Span<const T> values() const {
    return absl::Span<const T>(data<T>(), static_cast<size_t>(elements()));
  }

  // The same bytes under another shape of as many elements.
  Tensor Reshaped(Shape shape) const;
  // True when type and bytes are equal.
  bool Equals(const Tensor& other) const;

 private:
  TensorType type_;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
};

}  // namespace qb
