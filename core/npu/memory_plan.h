// Where buffers lie: offsets such that buffers that live at the same time never overlap, in as little
// memory as possible.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace qb::npu {

// Lives from step `first` to step `last`, both included. Sizes are planned as multiples of 64 bytes.
struct Buffer {
  int64_t size_bytes = 0;
  int64_t first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<int64_t> offsets;  // by buffer, multiples of 64
  int64_t peak_bytes = 0;        // multiple of 64
  int64_t lower_bound_bytes = 0;
};

inline constexpr int64_t kAlignment = 64;

// A function of the buffers alone. Tries greedy orders, then all orders of few buffers or a seeded
// hill-climb of bounded length, and stops where the lower bound is met.
// Precondition: sizes >= 0 with a sum below 2^62, first <= last.
MemoryPlan PlanMemory(absl::Span<const Buffer> buffers);

// The most bytes that live at one step: no plan can need less.
int64_t MostLiveBytes(absl::Span<const Buffer> buffers);

// Errors: Internal naming two buffers that overlap in time and memory, or one that is not aligned.
absl::Status CheckMemoryPlan(absl::Span<const Buffer> buffers, absl::Span<const int64_t> offsets);

}  // namespace qb::npu
