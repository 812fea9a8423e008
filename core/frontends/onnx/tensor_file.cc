#include "core/frontends/onnx/tensor_file.h"

#include <onnx/onnx_pb.h>

#include <limits>

#include "core/frontends/onnx/external_data.h"
#include "core/frontends/onnx/read_tensor.h"

namespace qb {

absl::StatusOr<Tensor> ReadOnnxTensor(absl::string_view bytes) {
  onnx::TensorProto proto;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError("the bytes are not a TensorProto");
  }
  onnx_import::ExternalFiles no_files("");
  return onnx_import::ReadTensor(proto, no_files);
}

}  // namespace qb
