// How each operator takes part in the change of layout.
#pragma once

#include "absl/status/status.h"

#include "core/passes/stored_layout.h"

namespace qb {

// True for an operator on images with channels first: the reason to change the layout at all.
bool IsChannelFirstImageOp(const Node& node);

// True for operators whose result is stored in the order of their operand.
bool MovesAlong(OpKind kind);

// Rewrites the node in place so that it works on stored tensors, and records how its own result is
// stored. Operands have been rewritten before. An operator without a rule gets its operands in
// source order.
absl::Status ApplyLayoutRule(StoredLayout& layout, Node* node);

}  // namespace qb
