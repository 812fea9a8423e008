// From when to when each tensor of a network is needed, and which tensors may share memory.
#pragma once

#include <cstdint>
#include <vector>

#include "core/integer/network.h"
#include "absl/status/status.h"
#include "core/npu/memory_plan.h"

namespace qb::npu {

// Step i is layer i; inputs live from step 0, outputs to step layers.size().
struct Liveness {
  std::vector<Buffer> buffers;
  std::vector<int> buffer_of;      // by tensor; -1 for constants and for tensors that nothing touches
  std::vector<bool> in_place;      // by layer: the output is the buffer of an input
};

// Lets a layer write over an operand that dies with it, where its kernel may (MayRunInPlace).
// Precondition: the network is valid.
Liveness ComputeLiveness(const integer::Network& network);

// That no layer overwrites a tensor which is still needed, but by working in place as above.
// `addresses` by tensor, in an arena of `arena_bytes`; -1 for constants. Takes O(n log n) time, for
// programs from outside. Precondition: the network is valid.
// Errors: DataLoss naming the tensors.
absl::Status CheckAddresses(const integer::Network& network,
                            const std::vector<int64_t>& addresses, int64_t arena_bytes);

}  // namespace qb::npu
