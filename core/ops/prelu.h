// PRelu: a LeakyRelu whose slope is a tensor.
#pragma once

#include "core/ops/op_def.h"

namespace qb {

// Operands x and slope (NoAttrs): y = x < 0 ? slope * x : x, of x's type. The slope broadcasts to
// x's shape, usually from one number for each channel. Source: ONNX PRelu.
struct PReluOperands {
  static constexpr int64_t kInput = 0, kSlope = 1;
};

absl::StatusOr<TensorType> InferPRelu(const InferenceInput& input);

}  // namespace qb
