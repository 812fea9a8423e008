#include "core/npu/memory_plan.h"

#include <chrono>
#include <iostream>

#include "core/base/testing/status_matchers.h"
#include "core/integer/testing/random_network.h"

namespace qb::npu {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;
using integer::testing::Random;

// A valid plan whose peak is what its offsets say.
MemoryPlan Check(const std::vector<Buffer>& buffers) {
  MemoryPlan plan = PlanMemory(buffers);
  EXPECT_TRUE(CheckMemoryPlan(buffers, plan.offsets).ok());
  EXPECT_EQ(plan.lower_bound_bytes, MostLiveBytes(buffers));
  EXPECT_GE(plan.peak_bytes, plan.lower_bound_bytes);
  int64_t end = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    end = std::max(end, plan.offsets[i] + (buffers[i].size_bytes + 63) / 64 * 64);
  }
  EXPECT_EQ(plan.peak_bytes, end);
  return plan;
}

TEST(PlanMemory, PlansNothing) {
  EXPECT_EQ(Check({}).peak_bytes, 0);
  EXPECT_EQ(Check({{0, 0, 3}}).peak_bytes, 0);
  EXPECT_EQ(Check({{1, 0, 3}}).peak_bytes, 64);
}

TEST(PlanMemory, MeetsTheLowerBoundOnChains) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<Buffer> buffers;
    for (int64_t i = 0; i < random.Int(2, 120); ++i) {
      buffers.push_back({random.Int(1, 100000), i, i + 1});
    }
    const MemoryPlan plan = Check(buffers);
    EXPECT_EQ(plan.peak_bytes, plan.lower_bound_bytes) << seed;
  }
}

TEST(PlanMemory, MeetsTheLowerBoundOnResidualNetworks) {
  // Blocks of three layers whose sum takes the place of a branch, as ResNet-50 at 224x224.
  std::vector<Buffer> buffers;
  int64_t step = 0;
  buffers.push_back({int64_t{224} * 224 * 3, 0, 0});
  buffers.push_back({int64_t{112} * 112 * 64, 0, 1});
  int64_t side = 56;
  int64_t width = 64;
  step = 1;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block) {
      const int64_t in_side = block == 0 && width > 64 ? side * 2 : side;
      const int64_t out = side * side * width * 4;
      // The block's input lives until its sum, or until the projection beside it.
      buffers.push_back({in_side * in_side * width, step + 1, step + 2});
      buffers.push_back({side * side * width, step + 2, step + 3});
      buffers.push_back({out, step + 3, step + 4});
      buffers.push_back({out, step, step + 4});
      step += 4;
    }
    side /= 2;
    width *= 2;
  }
  const MemoryPlan plan = Check(buffers);
  EXPECT_EQ(plan.peak_bytes, plan.lower_bound_bytes);
}

TEST(PlanMemory, StaysNearTheLowerBoundOnRandomIntervals) {
  double sum = 0;
  double worst = 1;
  const auto begun = std::chrono::steady_clock::now();
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    std::vector<Buffer> buffers;
    const int64_t count = random.Int(9, 80);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = random.Int(0, 40);
      buffers.push_back({random.Int(1, 5000), first, first + random.Int(0, 12)});
    }
    const MemoryPlan plan = Check(buffers);
    const double ratio = static_cast<double>(plan.peak_bytes) /
                         static_cast<double>(plan.lower_bound_bytes);
    EXPECT_LE(ratio, 1.05) << seed;
    sum += ratio;
    worst = std::max(worst, ratio);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
  std::cout << "random intervals: worst " << worst << ", mean " << sum / 40 << " of the bound, "
            << seconds.count() / 40 << " s each\n";
  EXPECT_LE(sum / 40, 1.04);
}

// All orders with lowest-gap placement, without the product's code.
int64_t BestPeak(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  int64_t best = INT64_MAX;
  do {
    std::vector<int64_t> offset(buffers.size(), -1);
    int64_t peak = 0;
    for (const size_t i : order) {
      int64_t at = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t j = 0; j < buffers.size(); ++j) {
          const bool meets = offset[j] >= 0 && buffers[i].first <= buffers[j].last &&
                             buffers[j].first <= buffers[i].last;
          if (meets && at < offset[j] + buffers[j].size_bytes &&
              offset[j] < at + buffers[i].size_bytes) {
            at = offset[j] + buffers[j].size_bytes;
            moved = true;
          }
        }
      }
      offset[i] = at;
      peak = std::max(peak, at + buffers[i].size_bytes);
    }
    best = std::min(best, peak);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(PlanMemory, IsExactForFewBuffers) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    std::vector<Buffer> buffers;
    for (int i = 0; i < 6; ++i) {
      const int64_t first = random.Int(0, 6);
      buffers.push_back({64 * random.Int(1, 20), first, first + random.Int(0, 4)});
    }
    EXPECT_EQ(Check(buffers).peak_bytes, BestPeak(buffers)) << seed;
  }
}

TEST(PlanMemory, IsAFunctionOfTheBuffers) {
  Random random(5);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 60; ++i) {
    const int64_t first = random.Int(0, 30);
    buffers.push_back({random.Int(1, 5000), first, first + random.Int(0, 12)});
  }
  EXPECT_EQ(PlanMemory(buffers).offsets, PlanMemory(buffers).offsets);
}

TEST(CheckMemoryPlan, FindsOverlaps) {
  const std::vector<Buffer> buffers = {{64, 0, 1}, {64, 1, 2}, {64, 2, 3}};
  QB_EXPECT_OK(CheckMemoryPlan(buffers, {0, 64, 0}));
  EXPECT_THAT(CheckMemoryPlan(buffers, {0, 64, 64}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("buffers 1 and 2 overlap")));
  EXPECT_THAT(CheckMemoryPlan(buffers, {0, 32, 0}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("lies at 32")));
}

}  // namespace
}  // namespace qb::npu
