// A quantized network as S8S8 QDQ ONNX: what moves codes moves int8, what computes stands between
// DequantizeLinear and QuantizeLinear, tables are stored and looked up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/package/onnx_builder.h"

namespace qb {

// 13, or 21 where the network has codes of 16 or weights of 4 or 16 bits.
int64_t QdqOpset(const integer::Network& network);

// The layers of `network` into a model that is being built. `inputs`: the float32 values that its
// inputs are there; codes at an integer border are quantized first. Returns the float32 values that
// its outputs are. Errors: UNSUPPORTED_OPERATOR naming a layer without a form in ONNX.
absl::StatusOr<std::vector<std::string>> ExportNetwork(const integer::Network& network,
                                                       const std::vector<std::string>& inputs,
                                                       OnnxBuilder& builder);

}  // namespace qb
