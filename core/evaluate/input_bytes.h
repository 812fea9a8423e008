// uint8 inputs of an executable: from real numbers to the bytes that stand for them.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/json.h"
#include "core/integer/network.h"
#include "core/ir/tensor.h"
#include "core/quantization/uint8_input.h"

namespace qb {

// The nearest byte for each real value (float32): the inverse of what a byte stands for.
Tensor BytesOf(const Tensor& real, const Uint8Input& meaning);

// What a manifest's list of inputs says about their bytes; unchecked, BytesOfInput checks. Of a
// folded letterbox only that there is one.
std::vector<Uint8Input> BytesOfInputs(const Json& inputs);

// The entry of an input, or one that goes by the program's scale. Errors: MODEL_PARSE_ERROR for an
// entry that does not belong to the input's shape: the file may have been altered.
absl::StatusOr<Uint8Input> BytesOfInput(const integer::TensorInfo& info,
                                        absl::Span<const Uint8Input> all);

}  // namespace qb
