#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/quantization/hessian/layer_moments.h"
#include "core/quantization/hessian/tap_matrix.h"

namespace qb {
namespace {

struct Sample {
  std::vector<int8_t> codes;
  std::vector<int16_t> wide, real;
};

// What a tap meets at an output position: nothing outside of the input.
struct TapValue {
  double code = 0.0;  // less the zero point
  double real = 0.0;  // the float model's, in the steps of the codes
};

class MomentsTest : public ::testing::TestWithParam<int64_t> {
 protected:
  MomentsTest() {
    window_ = {.rows = 7,
               .columns = 9,
               .channels = 12,
               .kernel_h = 3,
               .kernel_w = 2,
               .stride_h = 2,
               .stride_w = 1,
               .dilation_h = 1,
               .dilation_w = 2,
               .pad_top = 1,
               .pad_left = 1,
               .out_rows = 4,
               .out_columns = 8};
    std::mt19937 random(3);
    for (Sample& sample : samples_) {
      for (int64_t i = 0; i < window_.rows * window_.columns * window_.channels; ++i) {
        sample.codes.push_back(static_cast<int8_t>(random() % 256));
        sample.wide.push_back(static_cast<int16_t>(static_cast<int32_t>(random() % 65535) - 32767));
        sample.real.push_back(static_cast<int16_t>(static_cast<int32_t>(random() % 8000) - 4000));
      }
      real_.push_back(sample.real);
    }
  }

  LayerInputs Inputs(DType dtype, bool with_real) const {
    LayerInputs inputs{window_,
                       GetParam(),
                       dtype,
                       dtype == DType::kInt8 ? -128 : 0,
                       {},
                       nullptr,
                       dtype == DType::kInt8 ? 32 : 1};
    for (const Sample& sample : samples_) {
      inputs.codes.push_back(dtype == DType::kInt8 ? static_cast<const void*>(sample.codes.data())
                                                   : sample.wide.data());
    }
    inputs.real = with_real ? &real_ : nullptr;
    return inputs;
  }

  TapValue Met(const Sample& sample, DType dtype, int64_t group, int64_t tap,
               int64_t position) const {
    const int64_t own = window_.channels / GetParam();
    const int64_t channel = group * own + tap % own;
    const int64_t kernel = tap / own;
    const int64_t y = position / window_.out_columns * window_.stride_h - window_.pad_top +
                      kernel / window_.kernel_w * window_.dilation_h;
    const int64_t x = position % window_.out_columns * window_.stride_w - window_.pad_left +
                      kernel % window_.kernel_w * window_.dilation_w;
    if (y < 0 || y >= window_.rows || x < 0 || x >= window_.columns) {
      return {};
    }
    const size_t at = static_cast<size_t>((y * window_.columns + x) * window_.channels + channel);
    const double real = static_cast<double>(sample.real[at]);
    if (dtype == DType::kInt8) {
      return {sample.codes[at] + 128.0, real / 32.0};
    }
    return {static_cast<double>(sample.wide[at]), real};
  }

  // h and shift of two taps, from the definition.
  std::pair<double, double> Expected(DType dtype, int64_t group, int64_t i, int64_t j) const {
    // 16 bits hold the difference, saturated.
    const double most = dtype == DType::kInt8 ? 32767.0 / 32.0 : 32767.0;
    double h = 0.0, shift = 0.0;
    for (const Sample& sample : samples_) {
      for (int64_t p = 0; p < window_.positions(); ++p) {
        const TapValue a = Met(sample, dtype, group, i, p);
        const TapValue b = Met(sample, dtype, group, j, p);
        h += a.code * b.code;
        shift += std::clamp(a.real - a.code, -most, most) * b.code;
      }
    }
    return {h, shift};
  }

  void Check(DType dtype) {
    ThreadPool pool(1);
    const std::vector<InputMoments> moments = MomentsOf(Inputs(dtype, true), pool);
    ASSERT_EQ(moments.size(), static_cast<size_t>(GetParam()));
    for (int64_t group = 0; group < GetParam(); group += std::max<int64_t>(1, GetParam() - 1)) {
      const InputMoments& own = moments[static_cast<size_t>(group)];
      for (int64_t i = 0; i < own.taps; ++i) {
        for (int64_t j = 0; j < own.taps; ++j) {
          const auto [h, shift] = Expected(dtype, group, i, j);
          const size_t at = static_cast<size_t>(i * own.taps + j);
          ASSERT_EQ(own.h[at], h) << group << " " << i << " " << j;
          ASSERT_EQ(own.shift[at], shift) << group << " " << i << " " << j;
        }
      }
    }
  }

  WindowGeometry window_;
  Sample samples_[3];
  std::vector<std::vector<int16_t>> real_;
};

TEST_P(MomentsTest, AreTheSumsOfProductsOfWhatTapsMeet) {
  Check(DType::kInt8);
  Check(DType::kInt16);
}

TEST_P(MomentsTest, DoNotDependOnThreadsOrOrder) {
  ThreadPool one(1), four(4);
  LayerInputs inputs = Inputs(DType::kInt8, true);
  const std::vector<InputMoments> want = MomentsOf(inputs, one);
  std::reverse(inputs.codes.begin(), inputs.codes.end());
  std::vector<std::vector<int16_t>> reversed(real_.rbegin(), real_.rend());
  inputs.real = &reversed;
  const std::vector<InputMoments> got = MomentsOf(inputs, four);
  for (size_t group = 0; group < want.size(); ++group) {
    EXPECT_EQ(got[group].h, want[group].h);
    EXPECT_EQ(got[group].shift, want[group].shift);
  }
}

INSTANTIATE_TEST_SUITE_P(Groups, MomentsTest, ::testing::Values(1, 3, 12));

}  // namespace
}  // namespace qb
