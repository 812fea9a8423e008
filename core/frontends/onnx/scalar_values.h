// Reading the elements of small constant tensors as numbers, whatever their element type.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/ir/tensor.h"

namespace qb::onnx_import {

// Elements as int64 (uint64 above 2^63 wraps; floats are truncated and saturate).
std::vector<int64_t> IntegersOf(const Tensor& tensor);
// Elements as double.
std::vector<double> DoublesOf(const Tensor& tensor);

// A tensor of `dtype` with the given elements, each rounded towards zero for integers.
Tensor TensorOfIntegers(DType dtype, Shape shape, const std::vector<int64_t>& values);
Tensor TensorOfDoubles(DType dtype, Shape shape, const std::vector<double>& values);

// One element, rank 0. Errors: InvalidArgument when an integer type cannot hold `value` exactly.
absl::StatusOr<Tensor> ScalarOf(DType dtype, double value);

}  // namespace qb::onnx_import
