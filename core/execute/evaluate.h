// Evaluation of a single operator: constant folding, and tests of kernels.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ir/node.h"
#include "core/ir/tensor.h"

namespace qb {

// The value of `node` for the given operand values, by the same kernels as the executor. For
// kInputConstant (no operands) its tensor; for kTrim the part that counts, so that alone of all
// results may be smaller than node.type(). Preconditions: operands have the types of
// node.operand(i). Errors: Unimplemented for a case without a kernel (and for kInput);
// InvalidArgument for values that have no result (an index of Gather out of range).
absl::StatusOr<Tensor> EvaluateNode(const Node& node, absl::Span<const Tensor> operands);

}  // namespace qb
