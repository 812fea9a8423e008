// A serialized TensorProto on its own: the .pb files that ONNX test data consists of.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/tensor.h"

namespace qb {

// Errors: InvalidArgument for damaged bytes or sizes that disagree, Unimplemented for element types
// that we lack. External data is refused.
absl::StatusOr<Tensor> ReadOnnxTensor(absl::string_view bytes);

}  // namespace qb
