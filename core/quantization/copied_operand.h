// Layers whose results are made of their operand's elements.
#pragma once

#include "core/ir/node.h"

namespace qb {

// The operand whose elements the result's elements are copies of, or lie between, so that codes
// need no other scale; null when there is none.
const Node* CopiedOperand(const Node& node);

// Whether such a layer moves codes of any width: all but the maxima, which compare int8.
bool MovesAnyCodes(const Node& node);

}  // namespace qb
