#include "core/dataset/read_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/base/testing/status_matchers.h"
#include "core/base/thread_pool.h"

namespace qb {
namespace {

// Sample i holds i; sample 13 cannot be read. Counts what is alive at once.
class Numbers final : public Dataset {
 public:
  explicit Numbers(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  const std::string& name(int64_t) const override { return name_; }
  absl::StatusOr<std::vector<Tensor>> Load(int64_t index) const override {
    ++loads_;
    if (index == 13) {
      return absl::InvalidArgumentError("unlucky");
    }
    return std::vector<Tensor>{Tensor::OfInt64s({1}, {index})};
  }
  int64_t loads() const { return loads_.load(); }

 private:
  const int64_t size_;
  const std::string name_ = "n";
  mutable std::atomic<int64_t> loads_{0};
};

TEST(ReadAhead, GivesEverySampleOnceToEachThread) {
  const Numbers source(200);
  for (const int threads : {1, 4}) {
    const ReadAhead ahead(source, 3);
    ThreadPool pool(threads);
    std::atomic<int64_t> wrong{0};
    for (int pass = 0; pass < 3; ++pass) {
      pool.ParallelFor(source.size(), [&](int64_t index, int) {
        const absl::StatusOr<std::vector<Tensor>> values = ahead.Load(index);
        const bool good = values.ok() && (*values)[0].data<int64_t>()[0] == index;
        wrong += good != (index != 13) ? 1 : 0;
      });
    }
    EXPECT_EQ(wrong.load(), 0);
  }
}

// Every new pass begins while threads of the last one may still wait: nobody's sample may be
// dropped.
TEST(ReadAhead, ShortPassesNeverLoseASampleThatSomebodyWaitsFor) {
  const Numbers source(3);
  const ReadAhead ahead(source, 2);
  ThreadPool pool(3);
  std::atomic<int64_t> wrong{0};
  for (int pass = 0; pass < 3000; ++pass) {
    pool.ParallelFor(source.size(), [&](int64_t index, int) {
      const absl::StatusOr<std::vector<Tensor>> values = ahead.Load(index);
      wrong += values.ok() && (*values)[0].data<int64_t>()[0] == index ? 0 : 1;
    });
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ReadAhead, ReadsNoMoreThanItsDepthAhead) {
  const Numbers source(100);
  {
    const ReadAhead ahead(source, 2);
    QB_ASSERT_OK(ahead.Load(0));
    QB_ASSERT_OK(ahead.Load(1));
  }
  EXPECT_LE(source.loads(), 5);
}

TEST(ReadAhead, AnswersOutOfOrder) {
  const Numbers source(100);
  const ReadAhead ahead(source, 4);
  for (const int64_t index : {50, 3, 99, 0, 1, 2, 98, 2, 3, 4, 0}) {
    QB_ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> values, ahead.Load(index));
    EXPECT_EQ(values[0].data<int64_t>()[0], index);
  }
}

TEST(ReadAhead, PassesErrorsOn) {
  const Numbers source(20);
  const ReadAhead ahead(source, 4);
  QB_ASSERT_OK(ahead.Load(12));
  EXPECT_FALSE(ahead.Load(13).ok());
  QB_ASSERT_OK(ahead.Load(14));
}

}  // namespace
}  // namespace qb
