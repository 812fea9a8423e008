// From when to when each tensor of a network is needed, and which tensors may share memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/integer/network.h"
#include "core/npu/memory_plan.h"

namespace qb::npu {

// Step i is layer i; inputs live from step 0, outputs to step layers.size().
struct Liveness {
  std::vector<Buffer> buffers;
  std::vector<int> buffer_of;      // by tensor; -1 for constants and for tensors that nothing touches
  std::vector<bool> in_place;      // by layer: the output is the buffer of an input
};

// Lets a layer write over an operand that dies with it, where its kernel may (MayRunInPlace).
Liveness ComputeLiveness(const integer::Network& network);

}  // namespace qb::npu
