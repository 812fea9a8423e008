// Values of constants in the text form of a graph.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/ir/tensor.h"
#include "core/ops/text_tokens.h"

namespace qb {

// "[0.5, 1.0]", or "sha256(<hex>)" above `most_values` elements. float16 is written as the integers
// of its bit patterns.
std::string ConstantToken(const Tensor& tensor, int64_t most_values);

// Reads "[...]", "splat(v)" or "random(seed)". Precondition: the type's elements are checked.
// Errors: InvalidArgument for a wrong count, a value outside the type, or a digest (which has no
// values).
absl::StatusOr<Tensor> ReadConstant(TextScanner& scanner, const TensorType& type);

}  // namespace qb
