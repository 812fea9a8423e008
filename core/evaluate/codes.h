// Real tensors as codes and back, as an application does it at the border of an executable.
#pragma once

#include "core/integer/network.h"
#include "core/ir/tensor.h"

namespace qb {

bool HoldsCodes(const integer::TensorInfo& info);

// code = clamp(zero point + RNE(x / scale)), the rounding of a Quantize layer. Preconditions:
// `real` is float32 with as many elements as `info`, which holds codes.
Tensor QuantizeTensor(const Tensor& real, const integer::TensorInfo& info);

// scale * (code - zero point). Precondition: `codes` has the type of `info`.
Tensor DequantizeTensor(const Tensor& codes, const integer::TensorInfo& info);

}  // namespace qb
