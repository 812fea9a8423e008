// How an array from a file becomes the value of a model's input: element type and axis order.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ir/tensor.h"

namespace qb {

// An input of the model that samples must fit.
struct InputSpec {
  std::string name;
  TensorType type;
};

// The reading that was chosen for an array.
struct SampleReading {
  DType from = DType::kUndefined;
  // Axis order of the array with a batch axis in front; empty: as it is.
  std::vector<int64_t> transpose_axes;
  // For the log: "", or e.g. "float64 read as float32, HWC read as NCHW".
  std::string note;
};

// Decides how an array of type `found` is read as `spec`. Accepted shapes: the input's own, with or
// without a batch axis of 1; for rank 4 also channels last for a channels-first input and the other
// way round. The input's own shape wins; two other readings cannot fit at once unless all
// dimensions are equal. Accepted types: the input's own, and conversions that keep the value's
// meaning (any number to float32, narrower integers to int32 and int64).
//
// Errors: InvalidArgument "found ..., expected ...".
absl::StatusOr<SampleReading> ChooseReading(const TensorType& found, const InputSpec& spec);

// Applies a reading. Precondition: ChooseReading gave it for this array's type.
Tensor ApplyReading(const Tensor& array, const SampleReading& reading, const InputSpec& spec);

// The flat index of the first NaN or infinity, or -1. Always -1 for integers.
int64_t FirstNonFinite(const Tensor& tensor);

}  // namespace qb
