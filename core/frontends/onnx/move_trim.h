// Which operators may work on a value before it is trimmed.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/ir/node.h"

namespace qb::onnx_import {

// The operator's operands without the Trim, and the Trim that its result gets.
struct MovedTrim {
  std::vector<Node*> operands;
  Node* count = nullptr;
  int64_t axis = 0;
};

// Precondition: an operand is a Trim. Errors: Unimplemented, naming the operand, when the operator
// mixes elements along the trimmed axis or its operands are trimmed in different ways.
absl::StatusOr<MovedTrim> MoveTrim(OpKind kind, absl::Span<Node* const> operands,
                                   const Attributes& attrs);

}  // namespace qb::onnx_import
