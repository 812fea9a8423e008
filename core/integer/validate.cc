#include "core/integer/validate.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/integer/element_steps.h"
#include "core/integer/validate_layer.h"

namespace qb::integer {
namespace {

constexpr int64_t kMostRank = 8;
constexpr int64_t kMostElements = int64_t{1} << 31;
constexpr int64_t kMostDimension = int64_t{1} << 24;

bool IsIndex(int index, const Network& network) {
  return index >= 0 && static_cast<size_t>(index) < network.tensors.size();
}

absl::Status CheckConstants(const Network& network, std::vector<bool>& written) {
  for (const ConstantTensor& constant : network.constants) {
    if (!IsIndex(constant.tensor, network)) {
      return absl::InvalidArgumentError(
          absl::StrCat("constant of tensor ", constant.tensor, ": there is no such tensor"));
    }
    const size_t index = static_cast<size_t>(constant.tensor);
    const TensorInfo& tensor = network.tensors[index];
    if (static_cast<int64_t>(constant.bytes.size()) != tensor.size_bytes()) {
      return absl::InvalidArgumentError(absl::StrCat("constant '", tensor.name,
                                                     "': ", constant.bytes.size(),
                                                     " bytes; its type has ", tensor.size_bytes()));
    }
    if (written[index]) {
      return absl::InvalidArgumentError(
          absl::StrCat("constant '", tensor.name, "': the tensor has two values"));
    }
    written[index] = true;
  }
  return absl::OkStatus();
}

absl::Status CheckBorder(const Network& network, std::vector<bool>& written) {
  for (const int index : network.inputs) {
    if (!IsIndex(index, network) || written[static_cast<size_t>(index)]) {
      return absl::InvalidArgumentError(
          absl::StrCat("network input: tensor ", index, " does not exist or has a value already"));
    }
    written[static_cast<size_t>(index)] = true;
  }
  for (const int index : network.outputs) {
    if (!IsIndex(index, network)) {
      return absl::InvalidArgumentError(absl::StrCat("network output: there is no tensor ", index));
    }
  }
  return absl::OkStatus();
}

// Operands before their users, and one value a tensor.
absl::Status CheckOrder(const Layer& layer, const Network& network, std::vector<bool>& written) {
  for (const int input : layer.inputs) {
    if (!written[static_cast<size_t>(input)]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "layer '", layer.name, "': reads tensor ", input, " '",
          network.tensors[static_cast<size_t>(input)].name, "' before any layer has written it"));
    }
  }
  if (written[static_cast<size_t>(layer.output)]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "layer '", layer.name, "': writes tensor ", layer.output, " '",
        network.tensors[static_cast<size_t>(layer.output)].name, "', which has a value already"));
  }
  written[static_cast<size_t>(layer.output)] = true;
  return absl::OkStatus();
}

absl::Status CheckTensors(const Network& network) {
  for (const TensorInfo& tensor : network.tensors) {
    QB_RETURN_IF_ERROR(ValidateTensor(tensor));
  }
  return absl::OkStatus();
}

absl::Status CheckOutputsWritten(const Network& network, const std::vector<bool>& written) {
  for (const int index : network.outputs) {
    if (!written[static_cast<size_t>(index)]) {
      return absl::InvalidArgumentError(
          absl::StrCat("network output '", network.tensors[static_cast<size_t>(index)].name,
                       "': no layer writes it"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChannelZeroPoints(const TensorInfo& tensor) {
  const std::vector<int32_t>& points = tensor.channel_zero_points;
  if (points.empty()) {
    return absl::OkStatus();
  }
  const std::string where = absl::StrCat("tensor '", tensor.name, "': ");
  if (tensor.dtype != DType::kInt8 || points.size() != tensor.channel_factors.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, points.size(), " zero points for ", tensor.channel_factors.size(),
                     " channel factors of ", DTypeName(tensor.dtype),
                     "; accepted: none, or one for each factor of int8 codes"));
  }
  for (const int32_t point : points) {
    if (point < -128 || point > 127) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "zero point ", point, " of a channel; accepted: -128 to 127"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChannelFactors(const TensorInfo& tensor) {
  QB_RETURN_IF_ERROR(CheckChannelZeroPoints(tensor));
  if (tensor.channel_axis < -1 || tensor.channel_axis >= tensor.shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", tensor.name, "': channel axis ",
                                                   tensor.channel_axis, " of ", tensor.shape.rank(),
                                                   "; accepted: -1 to ", tensor.shape.rank() - 1));
  }
  if (tensor.channel_factors.empty()) {
    return absl::OkStatus();
  }
  const int64_t count = static_cast<int64_t>(tensor.channel_factors.size());
  if (tensor.shape.rank() == 0 || tensor.shape[ChannelAxisOf(tensor)] != count) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", tensor.name, "': ", count,
                                                   " channel factors; accepted: none, or one for "
                                                   "each index of the channel axis"));
  }
  for (const float factor : tensor.channel_factors) {
    if (!std::isfinite(factor) || !(factor > 0)) {
      return absl::InvalidArgumentError(absl::StrCat("tensor '", tensor.name, "': channel factor ",
                                                     factor, "; accepted: finite and above 0"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateTensor(const TensorInfo& tensor) {
  const std::string where = absl::StrCat("tensor '", tensor.name, "': ");
  if (tensor.dtype != DType::kInt8 && tensor.dtype != DType::kInt16 &&
      tensor.dtype != DType::kUint8 && tensor.dtype != DType::kFloat32) {
    return absl::InvalidArgumentError(absl::StrCat(where, "type ", DTypeName(tensor.dtype),
                                                   "; accepted: int8, int16, uint8, float32"));
  }
  if (tensor.shape.rank() > kMostRank) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "rank ", tensor.shape.rank(), "; accepted: at most ", kMostRank));
  }
  int64_t elements = 1;
  for (const int64_t dim : tensor.shape) {
    if (dim < 1 || dim > kMostDimension || elements > kMostElements / dim) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, "shape with dimension ", dim,
                       "; accepted: dimensions from 1 to 2^24, at most 2^31 elements"));
    }
    elements *= dim;
  }
  if (!std::isfinite(tensor.scale) || !(tensor.scale > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "scale ", tensor.scale, "; accepted: finite and above 0"));
  }
  if (tensor.zero_point < -128 || tensor.zero_point > 127) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "zero point ", tensor.zero_point, "; accepted: -128 to 127"));
  }
  if (tensor.dtype == DType::kInt16 && tensor.zero_point != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "int16 with zero point ", tensor.zero_point, "; accepted: 0"));
  }
  return CheckChannelFactors(tensor);
}

absl::Status ValidateLayer(const Layer& layer, const Network& network) {
  absl::Status status = internal::CheckLayer(layer, network);
  if (status.ok()) {
    return status;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "layer '", layer.name, "' (", LayerKindName(layer.params), "): ", status.message()));
}

absl::Status ValidateNetwork(const Network& network) {
  QB_RETURN_IF_ERROR(CheckTensors(network));
  std::vector<bool> written(network.tensors.size(), false);
  QB_RETURN_IF_ERROR(CheckConstants(network, written));
  QB_RETURN_IF_ERROR(CheckBorder(network, written));
  for (const Layer& layer : network.layers) {
    QB_RETURN_IF_ERROR(ValidateLayer(layer, network));
    QB_RETURN_IF_ERROR(CheckOrder(layer, network, written));
  }
  return CheckOutputsWritten(network, written);
}

const char* LayerKindName(const LayerParams& params) {
  static constexpr const char* kNames[] = {
      "convolution",  "matmul",     "elementwise",    "pool",           "reduce",
      "lookup",       "softmax",    "concat",         "rescale",        "slice",
      "pad",          "transpose",  "reshape",        "resize_nearest", "depth_to_space",
      "quantize",     "dequantize", "conv_transpose", "resize_linear",  "prelu",
      "normalization"};
  static_assert(std::size(kNames) == std::variant_size_v<LayerParams>, "a layer kind has no name");
  return kNames[params.index()];
}

}  // namespace qb::integer
