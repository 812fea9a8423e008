// QuantizeLinear and DequantizeLinear: the borders of integers in a model that came quantized.
#pragma once

#include <cstdint>
#include <string>

#include "core/ops/op_def.h"

namespace qb {

// Operands: x, scale, zero_point. scale is one number, one for each element of `axis` (>= 0), or,
// with block_size > 0, one for each block_size elements along `axis`; zero_point has its shape and
// the integer type.
//
// QuantizeLinear: round(x / scale) (halves to even) + zero_point, saturated to the type of
// zero_point. DequantizeLinear: (x - zero_point) * scale in the type of scale.
struct QuantizeLinearAttrs final : AttributesOf<QuantizeLinearAttrs> {
  static constexpr int64_t kInput = 0, kScale = 1, kZeroPoint = 2;
  int64_t axis = 0;
  int64_t block_size = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("block_size", self.block_size);
  }
};

absl::StatusOr<TensorType> InferQuantizeLinear(const InferenceInput& input);
absl::StatusOr<TensorType> InferDequantizeLinear(const InferenceInput& input);

}  // namespace qb
