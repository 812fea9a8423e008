#include "core/execute/arena_planner.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace qb::execute {
namespace {

int64_t Aligned(int64_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

bool Overlap(const ArenaBlock& a, const ArenaBlock& b) {
  return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// The offset of the smallest gap between `placed` (sorted by offset) that holds `bytes`; behind all
// of them when no gap does.
int64_t BestOffset(const std::vector<const ArenaBlock*>& placed, int64_t bytes) {
  int64_t best = -1;
  int64_t best_gap = 0;
  int64_t end = 0;
  for (const ArenaBlock* block : placed) {
    const int64_t gap = block->offset - end;
    if (gap >= bytes && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(end, block->offset + Aligned(block->bytes));
  }
  return best >= 0 ? best : end;
}

}  // namespace

int64_t PlanArena(absl::Span<ArenaBlock> blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<const ArenaBlock*> by_offset;  // all that have their place
  int64_t total = 0;
  for (size_t i : order) {
    ArenaBlock& block = blocks[i];
    std::vector<const ArenaBlock*> neighbours;
    for (const ArenaBlock* other : by_offset) {
      if (Overlap(block, *other)) {
        neighbours.push_back(other);
      }
    }
    block.offset = BestOffset(neighbours, Aligned(block.bytes));
    total = std::max(total, block.offset + Aligned(block.bytes));
    by_offset.insert(std::upper_bound(by_offset.begin(), by_offset.end(), &block,
                                      [](const ArenaBlock* a, const ArenaBlock* b) {
                                        return a->offset < b->offset;
                                      }),
                     &block);
  }
  return total;
}

int64_t LargestLiveBytes(absl::Span<const ArenaBlock> blocks) {
  std::map<int64_t, int64_t> change;  // by step: bytes that begin minus bytes that ended before
  for (const ArenaBlock& block : blocks) {
    change[block.first_step] += Aligned(block.bytes);
    change[block.last_step + 1] -= Aligned(block.bytes);
  }
  int64_t live = 0;
  int64_t largest = 0;
  for (const auto& [step, bytes] : change) {
    live += bytes;
    largest = std::max(largest, live);
  }
  return largest;
}

}  // namespace qb::execute
