// TensorProto -> Tensor, and the names of ONNX element types. For sources that include onnx_pb.h.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/frontends/onnx/external_data.h"
#include "core/ir/tensor.h"

namespace onnx {
class TensorProto;
}  // namespace onnx

namespace qb::onnx_import {

// kUndefined for the types that we lack (strings, complex, bfloat16, 8 and 4 bit floats, int4).
DType DTypeFromOnnx(int32_t data_type);
// "FLOAT", "STRING", "INT4", ...; "type 99" for an unknown number.
std::string OnnxTypeName(int32_t data_type);

// The tensor's value. raw_data is moved out of `proto`, external data stays mapped; other forms are
// copied. Sizes are compared with the bytes that are there before anything is allocated.
// Errors: InvalidArgument "tensor 'w': ..." when sizes disagree; Unimplemented for element types
// that we lack and for segments.
absl::StatusOr<Tensor> ReadTensor(onnx::TensorProto& proto, ExternalFiles& files);

}  // namespace qb::onnx_import
