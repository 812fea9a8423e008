// Whether operands and attributes fit an operator: what building, parsing and verifying share.
#pragma once

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ops/op_def.h"

namespace qb {

// The result's type, after checking arity, operands and attributes. Errors: InvalidArgument without
// the node's name.
absl::StatusOr<TensorType> InferType(OpKind kind, absl::Span<Node* const> operands,
                                     const Attributes& attrs);

// True when `attrs` has the fields, in name and type, of the operator's attributes.
bool AttributesFit(OpKind kind, const Attributes& attrs);

}  // namespace qb
