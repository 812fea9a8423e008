#include "core/execute/arena_planner.h"

#include <gmock/gmock.h>

#include <random>

namespace qb::execute {
namespace {

using ::testing::Ge;
using ::testing::Le;

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

void ExpectNoOverlap(const std::vector<ArenaBlock>& blocks, int64_t total) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].offset % kArenaAlignment, 0);
    EXPECT_LE(blocks[i].offset + blocks[i].bytes, total);
    for (size_t j = 0; j < i; ++j) {
      const bool same_time = blocks[i].first_step <= blocks[j].last_step &&
                             blocks[j].first_step <= blocks[i].last_step;
      const bool same_place = blocks[i].offset < blocks[j].offset + blocks[j].bytes &&
                              blocks[j].offset < blocks[i].offset + blocks[i].bytes;
      EXPECT_FALSE(same_time && same_place) << i << " and " << j;
    }
  }
}

TEST(PlanArena, ReusesTheMemoryOfAChain) {
  std::vector<ArenaBlock> blocks;
  for (int64_t step = 0; step < 10; ++step) {
    blocks.push_back({1000, step, step + 1});
  }
  EXPECT_EQ(PlanArena(absl::MakeSpan(blocks)), 2 * Aligned(1000));
  ExpectNoOverlap(blocks, 2 * Aligned(1000));
}

TEST(PlanArena, NothingNeedsNothing) {
  std::vector<ArenaBlock> blocks;
  EXPECT_EQ(PlanArena(absl::MakeSpan(blocks)), 0);
  EXPECT_EQ(LargestLiveBytes(blocks), 0);
}

TEST(LargestLiveBytes, SumsWhatIsAliveAtOnce) {
  const std::vector<ArenaBlock> blocks = {{64, 0, 3}, {128, 1, 1}, {256, 2, 2}, {64, 3, 9}};
  EXPECT_EQ(LargestLiveBytes(blocks), 64 + 256);
}

TEST(PlanArena, KeepsRandomBlocksApartAndStaysNearTheBound) {
  std::mt19937 random(20);
  for (int round = 0; round < 50; ++round) {
    std::vector<ArenaBlock> blocks;
    for (int64_t step = 0; step < 60; ++step) {
      const int64_t bytes = 1 + static_cast<int64_t>(random() % 100000);
      blocks.push_back({bytes, step, step + static_cast<int64_t>(random() % 6)});
    }
    const int64_t total = PlanArena(absl::MakeSpan(blocks));
    ExpectNoOverlap(blocks, total);
    const int64_t bound = LargestLiveBytes(blocks);
    EXPECT_THAT(total, Ge(bound));
    EXPECT_THAT(total, Le(bound * 3 / 2));
  }
}

}  // namespace
}  // namespace qb::execute
