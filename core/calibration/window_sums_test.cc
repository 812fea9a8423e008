#include "core/calibration/window_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace qb {
namespace {

// What one tap sees of one channel.
double TapSum(const WindowGeometry& g, const std::vector<float>& input, int64_t ky, int64_t kx,
              int64_t c) {
  double sum = 0.0;
  for (int64_t oy = 0; oy < g.out_rows; ++oy) {
    for (int64_t ox = 0; ox < g.out_columns; ++ox) {
      const int64_t y = oy * g.stride_h + ky * g.dilation_h - g.pad_top;
      const int64_t x = ox * g.stride_w + kx * g.dilation_w - g.pad_left;
      if (y >= 0 && y < g.rows && x >= 0 && x < g.columns) {
        sum += input[static_cast<size_t>((y * g.columns + x) * g.channels + c)];
      }
    }
  }
  return sum;
}

// Tap by tap, position by position.
std::vector<double> Plain(const WindowGeometry& g, const std::vector<float>& input) {
  std::vector<double> sums;
  for (int64_t ky = 0; ky < g.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < g.kernel_w; ++kx) {
      for (int64_t c = 0; c < g.channels; ++c) {
        sums.push_back(TapSum(g, input, ky, kx, c));
      }
    }
  }
  return sums;
}

TEST(WindowSums, AgreesWithThePlainSum) {
  const WindowGeometry geometries[] = {
      {.rows = 5, .columns = 7, .channels = 3, .out_rows = 5, .out_columns = 7},
      {.rows = 6,
       .columns = 5,
       .channels = 2,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_top = 1,
       .pad_left = 1,
       .out_rows = 6,
       .out_columns = 5},
      {.rows = 9,
       .columns = 8,
       .channels = 4,
       .kernel_h = 3,
       .kernel_w = 2,
       .stride_h = 2,
       .stride_w = 3,
       .dilation_h = 2,
       .pad_top = 2,
       .pad_left = 0,
       .out_rows = 5,
       .out_columns = 3},
      {.rows = 1,
       .columns = 1,
       .channels = 5,
       .kernel_h = 3,
       .kernel_w = 3,
       .pad_top = 1,
       .pad_left = 1,
       .out_rows = 1,
       .out_columns = 1},
      {.rows = 2, .columns = 600, .channels = 1, .out_rows = 2, .out_columns = 600},
  };
  std::mt19937 random(5);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  for (const WindowGeometry& geometry : geometries) {
    std::vector<float> input(
        static_cast<size_t>(geometry.rows * geometry.columns * geometry.channels));
    for (float& value : input) {
      value = uniform(random);
    }
    EXPECT_THAT(WindowSums(geometry, input),
                ::testing::Pointwise(::testing::DoubleNear(1e-4), Plain(geometry, input)));
  }
}

TEST(OrderFreeSums, IsExactInAnyOrder) {
  std::vector<double> values;
  values.reserve(1000);
  std::mt19937 random(5);
  std::normal_distribution<double> normal(0.0, 1e6);
  for (int i = 0; i < 1000; ++i) {
    values.push_back(i % 2 == 0 ? normal(random) : normal(random) * 1e-9);
  }
  OrderFreeSums first(1);
  for (const double value : values) {
    first.Add({&value, 1});
  }
  for (int round = 0; round < 5; ++round) {
    std::shuffle(values.begin(), values.end(), random);
    OrderFreeSums again(1);
    for (const double value : values) {
      again.Add({&value, 1});
    }
    EXPECT_EQ(again.Result(), first.Result());
  }
}

}  // namespace
}  // namespace qb
