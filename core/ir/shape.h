// The static shape of a tensor, and the type that joins it with an element type.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/ir/dtype.h"

namespace qb {

// Dimensions in elements, outermost first. Every dimension is known and >= 0; a scalar has rank 0.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  explicit Shape(absl::Span<const int64_t> dims) : dims_(dims.begin(), dims.end()) {}

  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  int64_t operator[](int64_t axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int64_t axis) { return dims_[static_cast<size_t>(axis)]; }
  const std::vector<int64_t>& dims() const { return dims_; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }

  // Product of the dimensions; 1 for a scalar. The shape must have passed CheckedElements once.
  int64_t elements() const;
  // Row-major strides in elements.
  std::vector<int64_t> strides() const;
  // "1x3x224x224"; "scalar" for rank 0.
  std::string ToString() const;

  bool operator==(const Shape& other) const = default;

 private:
  std::vector<int64_t> dims_;
};

// The number of elements of dimensions from outside. Errors: InvalidArgument for a negative
// dimension or a product (of those that are not 0) above 2^40.
absl::StatusOr<int64_t> CheckedElements(absl::Span<const int64_t> dims);

struct TensorType {
  DType dtype = DType::kUndefined;
  Shape shape;

  int64_t size_bytes() const { return shape.elements() * SizeBytes(dtype); }
  // "float32[1x3x224x224]"
  std::string ToString() const;
  bool operator==(const TensorType& other) const = default;
};

// The axis counted from the front. Errors: InvalidArgument when outside [-rank, rank).
absl::StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank);

// The NumPy broadcast of two shapes. Errors: InvalidArgument naming both.
absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b);

}  // namespace qb
