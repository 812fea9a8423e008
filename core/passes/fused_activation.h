// The activation inside an operator's attributes, whichever operator it is.
#pragma once

#include <optional>

#include "core/ir/node.h"
#include "core/ops/activation.h"

namespace qb {

// Null when the operator has no fused activation.
Activation* FusedActivationOf(Node* node);

// The clamp that a Relu or Clip node is; empty for every other operator.
std::optional<Activation> ClampOf(const Node& node);

// The clamp that equals `first` and then `second`.
Activation ComposeClamps(const Activation& first, const Activation& second);

}  // namespace qb
