#include "core/calibration/range_observer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace qb {
namespace {

std::vector<std::vector<float>> Samples(int count, int elements) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> samples(static_cast<size_t>(count));
  for (auto& sample : samples) {
    for (int i = 0; i < elements; ++i) {
      sample.push_back(normal(random));
    }
  }
  return samples;
}

TensorStatistics Observe(const RangePolicy& policy,
                         const std::vector<std::vector<float>>& samples) {
  RangeObserver observer(policy);
  ObserverScratch scratch;
  for (const auto& sample : samples) {
    EXPECT_TRUE(observer.Observe(sample, scratch));
  }
  return observer.Result();
}

// One level: rounding outweighs clipping, so the percentile itself is chosen.
RangePolicy Percentile(RangePolicy::Kind kind, int64_t rank, int64_t most_a_sample) {
  return {.kind = kind, .rank = rank, .most_a_sample = most_a_sample, .levels = 1};
}

// The rank-th largest magnitude, by sorting everything.
float Exact(const std::vector<std::vector<float>>& samples, int64_t rank) {
  std::vector<float> all;
  for (const auto& sample : samples) {
    for (const float value : sample) {
      all.push_back(std::abs(value));
    }
  }
  std::sort(all.rbegin(), all.rend());
  return all[static_cast<size_t>(rank - 1)];
}

TEST(RangeObserver, MaxIsTheLargestMagnitude) {
  const auto samples = Samples(5, 1000);
  const TensorStatistics found = Observe({}, samples);
  EXPECT_EQ(found.threshold, Exact(samples, 1));
  EXPECT_EQ(found.elements, 5000);
  EXPECT_EQ(found.above_threshold, 0);
  EXPECT_LT(found.min, 0.0f);
}

TEST(RangeObserver, PoolIsExact) {
  const auto samples = Samples(8, 1000);
  for (const int64_t rank : {1, 2, 17, 81, 500}) {
    const RangePolicy policy = Percentile(RangePolicy::Kind::kPool, rank, 1000);
    const TensorStatistics found = Observe(policy, samples);
    EXPECT_EQ(found.threshold, Exact(samples, rank));
    EXPECT_EQ(found.above_threshold, rank - 1);
  }
}

TEST(RangeObserver, PoolDoesNotDependOnTheOrder) {
  auto samples = Samples(9, 500);
  samples[4].assign(500, 5.0f);  // one sample holds most of the large values
  const RangePolicy policy = Percentile(RangePolicy::Kind::kPool, 40, 12);
  const TensorStatistics first = Observe(policy, samples);
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(samples.begin(), samples.end(), random);
    EXPECT_EQ(Observe(policy, samples).threshold, first.threshold);
  }
}

TEST(RangeObserver, CapsTheShareOfOneSample) {
  std::vector<std::vector<float>> samples(4, std::vector<float>(100, 1.0f));
  samples[2].assign(100, 50.0f);
  const TensorStatistics free = Observe(Percentile(RangePolicy::Kind::kPool, 20, 100), samples);
  const TensorStatistics capped = Observe(Percentile(RangePolicy::Kind::kPool, 20, 5), samples);
  EXPECT_EQ(free.threshold, 50.0f);
  EXPECT_EQ(capped.threshold, 1.0f);
}

TEST(RangeObserver, CountsAreClose) {
  const auto samples = Samples(8, 1000);
  for (const int64_t rank : {1, 17, 81, 500}) {
    const RangePolicy policy = Percentile(RangePolicy::Kind::kCounts, rank, 1);
    const TensorStatistics found = Observe(policy, samples);
    const float exact = Exact(samples, rank);
    EXPECT_GE(found.threshold, exact);
    EXPECT_LE(found.threshold, exact * 1.008f);
  }
}

TEST(RangeObserver, MovesBetweenPercentileAndMaximum) {
  const auto samples = Samples(8, 1000);
  for (const auto kind : {RangePolicy::Kind::kPool, RangePolicy::Kind::kCounts}) {
    const RangePolicy policy{.kind = kind, .rank = 800, .most_a_sample = 1000, .levels = 127};
    const TensorStatistics found = Observe(policy, samples);
    EXPECT_GT(found.threshold, Exact(samples, 800));
    EXPECT_LE(found.threshold, Exact(samples, 1));
    EXPECT_LT(found.above_threshold, 800);
  }
}

TEST(RangeObserver, FindsZeroForValuesThatAreAllZero) {
  const std::vector<std::vector<float>> samples(3, std::vector<float>(100, 0.0f));
  for (const auto kind :
       {RangePolicy::Kind::kMax, RangePolicy::Kind::kPool, RangePolicy::Kind::kCounts}) {
    EXPECT_EQ(Observe(Percentile(kind, 5, 50), samples).threshold, 0.0f);
  }
}

TEST(RangeObserver, FindsBothEndsOfAShiftedRange) {
  auto samples = Samples(8, 1000);
  for (auto& sample : samples) {
    for (float& value : sample) {
      value = value + 3.0f;
    }
  }
  samples[1][17] = -30.0f;  // one value that is not worth a code
  for (const auto kind : {RangePolicy::Kind::kMax, RangePolicy::Kind::kPool,
                          RangePolicy::Kind::kCounts, RangePolicy::Kind::kHistogram}) {
    const RangePolicy policy{
        .kind = kind, .rank = 5, .most_a_sample = 1000, .levels = 15, .two_sided = true};
    const TensorStatistics found = Observe(policy, samples);
    EXPECT_EQ(found.min, -30.0f);
    EXPECT_GT(found.high, 4.0f);
    EXPECT_LE(found.high, found.max);
    if (kind == RangePolicy::Kind::kMax) {
      EXPECT_EQ(found.low, -30.0f);
      EXPECT_EQ(found.high, found.max);
    } else {
      EXPECT_LE(found.low, 0.0f);
      EXPECT_GT(found.low, -13.0f);
      EXPECT_GE(found.above_threshold, 1);
    }
    std::reverse(samples.begin(), samples.end());
    const TensorStatistics again = Observe(policy, samples);
    EXPECT_EQ(again.low, found.low);
    EXPECT_EQ(again.high, found.high);
  }
}

TEST(RangeObserver, RefusesNan) {
  RangeObserver observer({});
  ObserverScratch scratch;
  EXPECT_FALSE(observer.Observe({1.0f, std::nanf("")}, scratch));
  EXPECT_EQ(observer.Result().elements, 0);
}

}  // namespace
}  // namespace qb
