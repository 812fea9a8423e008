// What a node costs: products for the NPU, bytes for the way between the devices.
#pragma once

#include <cstdint>

#include "core/ir/node.h"

namespace qb {

// Multiplications of weights or activations with activations; 0 for everything that has no sum of
// products.
int64_t MacsOf(const Node& node);

}  // namespace qb
