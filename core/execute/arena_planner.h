// Where in one arena the activations of a graph lie, so that buffers are reused.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace qb::execute {

// A buffer that is alive in the steps [first_step, last_step].
struct ArenaBlock {
  int64_t bytes = 0;
  int64_t first_step = 0;
  int64_t last_step = 0;
  int64_t offset = 0;  // the planner's answer, a multiple of kArenaAlignment
};

inline constexpr int64_t kArenaAlignment = 64;

// Sets the offsets so that blocks that are alive at the same time do not overlap; returns the bytes
// of the arena. Largest first, each into the smallest gap that holds it: within a few percent of
// the lower bound on networks. A function of the blocks alone.
int64_t PlanArena(absl::Span<ArenaBlock> blocks);

// The largest sum of (aligned) bytes alive in one step: no plan is smaller.
int64_t LargestLiveBytes(absl::Span<const ArenaBlock> blocks);

}  // namespace qb::execute
