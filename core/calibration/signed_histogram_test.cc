#include "core/calibration/signed_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>

namespace qb {
namespace {

float LargestOf(const std::vector<float>& values) {
  float largest = 0.0f;
  for (const float value : values) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

SignedHistogram Count(const std::vector<std::vector<float>>& samples, int64_t bins) {
  SignedHistogram histogram(bins);
  for (const auto& sample : samples) {
    histogram.Add(sample, LargestOf(sample));
  }
  return histogram;
}

std::vector<int64_t> CountsOf(const SignedHistogram& histogram) {
  std::vector<int64_t> counts;
  for (int64_t i = -histogram.bins(); i < histogram.bins(); ++i) {
    counts.push_back(histogram.count(i));
  }
  return counts;
}

// Values of very different sizes, powers of two and zeros of both signs among them.
std::vector<std::vector<float>> Samples() {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> samples;
  for (int i = 0; i < 12; ++i) {
    std::vector<float> sample;
    sample.reserve(702);
    for (int k = 0; k < 700; ++k) {
      sample.push_back(normal(random) * std::ldexp(1.0f, i % 5 * 3 - 6));
    }
    sample.push_back(std::ldexp(1.0f, i - 4));
    sample.push_back(i % 2 == 0 ? 0.0f : -0.0f);
    samples.push_back(sample);
  }
  return samples;
}

TEST(SignedHistogram, CountsEachValueInTheBinOfItsRealNumber) {
  const auto samples = Samples();
  const SignedHistogram histogram = Count(samples, 64);
  std::vector<int64_t> expected(128, 0);
  for (const auto& sample : samples) {
    for (const float value : sample) {
      const int64_t bin = static_cast<int64_t>(std::floor(std::abs(value) / histogram.bin_width()));
      ++expected[static_cast<size_t>(64 + (std::signbit(value) ? -1 - bin : bin))];
    }
  }
  EXPECT_EQ(CountsOf(histogram), expected);
  EXPECT_GT(histogram.range(), 128.0);  // 2^7 is among the values: the range is above it
}

TEST(SignedHistogram, NeitherOrderNorSplitMatters) {
  auto samples = Samples();
  const std::vector<int64_t> expected = CountsOf(Count(samples, 32));
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    std::shuffle(samples.begin(), samples.end(), random);
    EXPECT_EQ(CountsOf(Count(samples, 32)), expected);
    std::vector<float> all;
    for (auto& sample : samples) {
      std::shuffle(sample.begin(), sample.end(), random);
      all.insert(all.end(), sample.begin(), sample.end());
    }
    EXPECT_EQ(CountsOf(Count({all}, 32)), expected);
    const auto half = samples.begin() + std::ssize(samples) / 2;
    SignedHistogram first = Count({samples.begin(), half}, 32);
    first.Merge(Count({half, samples.end()}, 32));
    EXPECT_EQ(CountsOf(first), expected);
  }
}

TEST(SignedHistogram, HoldsZerosSubnormalsAndTheLargestFloats) {
  const std::vector<float> values = {0.0f, 1e-44f, -1e-40f, 3.4e38f, -3.4e38f};
  const SignedHistogram histogram = Count({values}, 16);
  int64_t total = 0;
  for (const int64_t count : CountsOf(histogram)) {
    total += count;
  }
  EXPECT_EQ(total, 5);
  EXPECT_EQ(histogram.count(0), 2);
  EXPECT_EQ(histogram.count(15), 1);
  EXPECT_EQ(histogram.count(-16), 1);
}

}  // namespace
}  // namespace qb
