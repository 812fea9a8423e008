// A whole executable as a QDQ ONNX model.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/package/mxq.h"

namespace qb {

// The model that the executable's simulator runs, for ONNX Runtime: NPU parts as QDQ ONNX, CPU
// parts as plain ONNX, with the model's inputs and outputs (float32 also where the target has an
// integer border). Operator set 13; 17 with CPU parts; 21 where codes have 16 or weights 4 or 16
// bits.
//
// Errors: UNSUPPORTED_OPERATOR naming a layer without a form in ONNX; ARGUMENT_ERROR for an
// executable of several sizes; MODEL_PARSE_ERROR for a damaged part.
absl::StatusOr<std::string> MxqToQdqOnnx(const MxqFile& file);

}  // namespace qb
