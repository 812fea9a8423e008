#include "core/calibration/magnitude_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace qb {
namespace {

TEST(FindExtremes, FindsBothSignsAndZero) {
  const std::vector<float> mixed = {0.5f, -3.0f, 2.0f, -0.25f, 0.0f};
  EXPECT_EQ(FindExtremes(mixed).min, -3.0f);
  EXPECT_EQ(FindExtremes(mixed).max, 2.0f);
  const std::vector<float> negative = {-1.0f, -2.0f};
  EXPECT_EQ(FindExtremes(negative).min, -2.0f);
  EXPECT_EQ(FindExtremes(negative).max, 0.0f);
  const std::vector<float> minus_zero = {-0.0f};
  EXPECT_EQ(FindExtremes(minus_zero).min, 0.0f);
  EXPECT_EQ(FindExtremes({}).max, 0.0f);
}

TEST(FindExtremes, SeesNanAndInfinity) {
  for (const float bad : {std::nanf(""), -std::nanf(""), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values(1000, 1.0f);
    EXPECT_TRUE(FindExtremes(values).finite);
    values[777] = bad;
    EXPECT_FALSE(FindExtremes(values).finite) << bad;
  }
}

TEST(TopMagnitudes, AgreesWithSorting) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  for (const int64_t most : {1, 3, 50, 2000}) {
    std::vector<float> values(1537);
    std::vector<uint32_t> expected;
    for (float& value : values) {
      value = normal(random);
      expected.push_back(std::bit_cast<uint32_t>(std::abs(value)));
    }
    std::sort(expected.rbegin(), expected.rend());
    expected.resize(std::min<size_t>(expected.size(), static_cast<size_t>(most)));
    TopMagnitudes top;
    top.Reset(MagnitudeSide::kBoth, 0, most);
    top.Add(values);
    std::vector<uint32_t> taken(top.Take().begin(), top.Take().end());
    std::sort(taken.rbegin(), taken.rend());
    EXPECT_EQ(taken, expected) << most;
  }
}

TEST(TopMagnitudes, LeavesOutWhatIsNotAboveTheFloor) {
  TopMagnitudes top;
  top.Reset(MagnitudeSide::kBoth, std::bit_cast<uint32_t>(2.0f), 10);
  top.Add({1.0f, -2.0f, 3.0f, -4.0f});
  EXPECT_THAT(top.Take(), ::testing::UnorderedElementsAre(std::bit_cast<uint32_t>(3.0f),
                                                          std::bit_cast<uint32_t>(4.0f)));
}

TEST(TopMagnitudes, TakesOneSideAlone) {
  std::vector<float> values(200, -0.5f);
  values[3] = 7.0f;
  values[150] = -9.0f;
  TopMagnitudes top;
  top.Reset(MagnitudeSide::kPositive, 0, 3);
  top.Add(values);
  EXPECT_THAT(top.Take(), ::testing::ElementsAre(std::bit_cast<uint32_t>(7.0f)));
  top.Reset(MagnitudeSide::kNegative, std::bit_cast<uint32_t>(0.5f), 3);
  top.Add(values);
  EXPECT_THAT(top.Take(), ::testing::ElementsAre(std::bit_cast<uint32_t>(9.0f)));
}

}  // namespace
}  // namespace qb
