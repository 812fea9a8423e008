#include "core/calibration/clip_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace qb {
namespace {

std::vector<MagnitudeCount> Tail(std::vector<float> magnitudes) {
  std::sort(magnitudes.rbegin(), magnitudes.rend());
  std::vector<MagnitudeCount> tail;
  tail.reserve(magnitudes.size());
  for (const float magnitude : magnitudes) {
    tail.push_back({magnitude, 1});
  }
  return tail;
}

TEST(ChooseClip, DropsALoneOutlier) {
  const ClipChoice choice = ChooseClip(Tail({1000.0f, 1.2f, 1.1f, 1.0f}), {1 << 30, 127});
  EXPECT_EQ(choice.threshold, 1.0f);
  EXPECT_EQ(choice.above, 3);
}

TEST(ChooseClip, KeepsATailThatIsReal) {
  const ClipChoice choice = ChooseClip(Tail({2.0f, 1.9f, 1.8f, 1.0f}), {1000, 127});
  EXPECT_EQ(choice.threshold, 2.0f);
  EXPECT_EQ(choice.above, 0);
}

TEST(ChooseClip, NeverGoesBelowThePercentile) {
  // Rounding dominates everything with one level: the end of the tail is the best there is.
  EXPECT_EQ(ChooseClip(Tail({3.0f, 2.0f, 1.0f}), {1000, 1}).threshold, 1.0f);
  EXPECT_EQ(ChooseClip(Tail({0.5f}), {1000, 127}).threshold, 0.5f);
}

TEST(ChooseClip, MinimizesTheMeasuredErrorWhereClippingWeighsMore) {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  std::vector<float> all;
  for (int i = 0; i < 20000; ++i) {
    const float x = normal(random);
    all.push_back(std::abs(x * x * x));
  }
  std::vector<float> largest = all;
  std::sort(largest.rbegin(), largest.rend());
  largest.resize(2000);
  const auto measured = [&](float threshold) {
    const float step = threshold / 127.0f;
    double error = 0.0;
    for (const float x : all) {
      const float code = std::min(127.0f, std::nearbyint(x / step));
      const double weight = x > threshold ? 4.0 : 1.0;
      error += weight * (x - code * step) * static_cast<double>(x - code * step);
    }
    return error;
  };
  const double chosen = measured(ChooseClip(Tail(largest), {20000, 127}).threshold);
  for (size_t i = 0; i < largest.size(); i += 100) {
    // The model spreads rounding errors evenly; small values do not do that exactly.
    EXPECT_LT(chosen, measured(largest[i]) * 1.3) << i;
  }
}

TEST(ChooseClip, CountsRepeatedMagnitudes) {
  const std::vector<MagnitudeCount> joined = {{8.0f, 3}, {2.0f, 4}, {1.0f, 1}};
  const ClipChoice a = ChooseClip(joined, {1000000, 127});
  const ClipChoice b =
      ChooseClip(Tail({8.0f, 8.0f, 8.0f, 2.0f, 2.0f, 2.0f, 2.0f, 1.0f}), {1000000, 127});
  EXPECT_EQ(a.threshold, b.threshold);
}

TEST(ChooseClip, ClipsMoreBesideAWideOtherSide) {
  // The wider the codes are anyway, the more rounding error each bit of width adds.
  const auto tail = Tail({4.0f, 3.5f, 3.0f, 2.0f});
  const ClipChoice alone = ChooseClip(tail, {200000, 127});
  const ClipChoice beside = ChooseClip(tail, {200000, 255, 40.0});
  EXPECT_LT(beside.threshold, alone.threshold);
}

}  // namespace
}  // namespace qb
