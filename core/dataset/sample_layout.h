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
// way round. An array with the batch axis that has the input's own shape is taken as it is; without
// the batch axis and with three equal dimensions both orders fit, which is refused. Accepted types:
// the input's own, and conversions that keep the value's meaning (any number to float32, narrower
// integers to int32 and int64).
//
// Errors: InvalidArgument "found ..., expected ...", or with both readings where two fit.
absl::StatusOr<SampleReading> ChooseReading(const TensorType& found, const InputSpec& spec);

// The same for pixels, whose order [H, W, C] is known. Where channels first and last both fit the
// input, the pixels cannot tell which it wants: refused, unless `channels_first` (what
// autoConvertFormat assumes of a model).
absl::StatusOr<SampleReading> ChoosePixelReading(const TensorType& found, const InputSpec& spec,
                                                 bool channels_first);

// The array with its numbers as float32. Precondition: any type but kBool and kUndefined.
Tensor AsFloat32(const Tensor& array);

// Applies a reading. Precondition: ChooseReading gave it for this array's type.
Tensor ApplyReading(const Tensor& array, const SampleReading& reading, const InputSpec& spec);

// The flat index of the first NaN or infinity, or -1. Always -1 for integers.
int64_t FirstNonFinite(const Tensor& tensor);

}  // namespace qb
