// Consistency of integer networks: everything that the kernels take for granted.
#pragma once

#include "absl/status/status.h"
#include "core/integer/network.h"

namespace qb::integer {

// Every index, shape, data type, table size, weight and multiplier of the layer. Safe for networks
// read from hostile bytes. Errors: InvalidArgument naming the layer, what was found, what is accepted.
absl::Status ValidateLayer(const Layer& layer, const Network& network);

// Type, shape (dimensions from 1, at most 2^31 elements), scale and zero point.
absl::Status ValidateTensor(const TensorInfo& tensor);

// All tensors and layers, and that each tensor is written before it is read and written once.
absl::Status ValidateNetwork(const Network& network);

// The name of the layer's kind, as in program.proto and in reports: "convolution", "lookup", ...
const char* LayerKindName(const LayerParams& params);

}  // namespace qb::integer
