// Whether a value is a function of one other value, element by element: then it is one lookup table.
#pragma once

#include "core/ir/node.h"

namespace qb {

// The nearest value that `node` is a function of through pointwise operators and elementwise ones
// whose other operands are constant scalars or functions of the same value. Null when there is none.
const Node* SourceOfPointwiseValue(const Node& node);

}  // namespace qb
