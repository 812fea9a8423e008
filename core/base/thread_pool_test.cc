#include "core/base/thread_pool.h"

#include <atomic>

namespace qb {
namespace {

TEST(ThreadPool, EveryIndexRunsOnce) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 50; ++round) {
      std::vector<std::atomic<int>> seen(97);
      pool.ParallelFor(97, [&](int64_t index, int worker) {
        EXPECT_LT(worker, threads);
        seen[static_cast<size_t>(index)].fetch_add(1);
      });
      for (const std::atomic<int>& count : seen) {
        EXPECT_EQ(count.load(), 1);
      }
    }
  }
}

TEST(ThreadPool, AnEmptyLoopReturns) {
  ThreadPool pool(2);
  pool.ParallelFor(0, [](int64_t, int) { FAIL(); });
}

}  // namespace
}  // namespace qb
