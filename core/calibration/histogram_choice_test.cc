#include "core/calibration/histogram_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace qb {
namespace {

struct Values {
  std::vector<float> values;
  SignedHistogram histogram{2048};
  double min = 0.0, max = 0.0;

  explicit Values(std::vector<float> from) : values(std::move(from)) {
    for (const float value : values) {
      min = std::min<double>(min, value);
      max = std::max<double>(max, value);
    }
    histogram.Add(values, static_cast<float>(std::max(max, -min)));
  }
  HistogramRequest Request(HistogramObjective objective, bool two_sided = false) const {
    HistogramRequest request;
    request.objective = objective;
    request.levels = two_sided ? 255 : 127;
    request.two_sided = two_sided;
    request.min = min;
    request.max = max;
    return request;
  }
  // The true squared error of these values in codes that cover `ends`.
  double Error(const CodeEnds& ends, int levels, bool two_sided) const {
    const double step = (two_sided ? ends.high - ends.low : ends.high) / levels;
    double error = 0.0;
    for (const float value : values) {
      const double held = std::clamp<double>(value, ends.low, ends.high);
      const double off = value - std::nearbyint(held / step) * step;
      error += off * off;
    }
    return error;
  }
};

Values Normal(int count, float mean = 0.0f) {
  std::mt19937 random(17);
  std::normal_distribution<float> normal(mean, 1.0f);
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    values.push_back(normal(random));
  }
  return Values(values);
}

TEST(ChooseEnds, LeastSquaresIsNearTheBestOfAllThresholds) {
  Values values = Normal(50000);
  values.values.insert(values.values.end(), {40.0f, -38.0f});
  values = Values(values.values);
  const CodeEnds found = ChooseEnds(values.histogram, values.Request(HistogramObjective::kMse));
  EXPECT_EQ(found.low, -found.high);
  double least = values.Error({-values.max, values.max}, 127, false);
  EXPECT_LT(values.Error(found, 127, false), least);
  for (double threshold = 12.0; threshold < 40.0; threshold += 0.05) {
    least = std::min(least, values.Error({-threshold, threshold}, 127, false));
  }
  EXPECT_LT(values.Error(found, 127, false), 1.02 * least);
}

TEST(ChooseEnds, TwoSidesAreClippedApart) {
  Values values = Normal(50000, 3.0f);
  values.values.push_back(-30.0f);
  values = Values(values.values);
  HistogramRequest request = values.Request(HistogramObjective::kMse, true);
  request.levels = 15;  // few, so that one value is not worth codes
  const CodeEnds found = ChooseEnds(values.histogram, request);
  EXPECT_LT(found.low, 0.0);
  EXPECT_GT(found.low, -20.0);
  EXPECT_GT(found.high, 4.0);
  EXPECT_LE(found.high, values.max);
  EXPECT_LT(values.Error(found, 15, true), values.Error({values.min, values.max}, 15, true));
}

TEST(ChooseEnds, DivergenceClipsATailThatIsNoise) {
  Values values = Normal(200000);
  values.values.insert(values.values.end(), {8.0f, -8.5f});
  values = Values(values.values);
  const CodeEnds found = ChooseEnds(values.histogram, values.Request(HistogramObjective::kKl));
  EXPECT_LT(found.high, 8.0);
  EXPECT_GT(found.high, 2.0);
  EXPECT_LT(values.Error(found, 127, false),
            2.5 * values.Error({-values.max, values.max}, 127, false));
}

TEST(ChooseEnds, TheGuardRejectsADivergenceThatCostsTooMuch) {
  // Nearly all mass at zero and a few large values: the divergence would clip those.
  std::vector<float> peaked(200000, 0.001f);
  std::mt19937 random(9);
  std::uniform_real_distribution<float> tail(1.0f, 100.0f);
  for (int i = 0; i < 400; ++i) {
    peaked.push_back(tail(random));
  }
  const Values values(peaked);
  const HistogramRequest request = values.Request(HistogramObjective::kKl);
  const CodeEnds found = ChooseEnds(values.histogram, request);
  EXPECT_LE(values.Error(found, 127, false),
            2.1 * values.Error({-values.max, values.max}, 127, false));
}

TEST(ChooseEnds, PercentilesLeaveOutTheirShareWithinABin) {
  const Values values = Normal(100000);
  HistogramRequest request = values.Request(HistogramObjective::kPercentile);
  request.percentile = 0.99;
  const CodeEnds found = ChooseEnds(values.histogram, request);
  EXPECT_NEAR(found.high, 2.576, 0.05);
  const auto beyond = [&](const CodeEnds& ends) {
    return std::count_if(values.values.begin(), values.values.end(),
                         [&](float value) { return value > ends.high || value < ends.low; });
  };
  EXPECT_LE(beyond(found), 1000);
  EXPECT_GT(beyond(found), 900);
  request = values.Request(HistogramObjective::kPercentile, true);
  request.percentile = 0.99;
  const CodeEnds both = ChooseEnds(values.histogram, request);
  EXPECT_LE(beyond(both), 1000);
  EXPECT_GT(beyond(both), 900);
  EXPECT_EQ(CountBeyond(values.histogram, -values.histogram.range(), values.histogram.range()), 0);
}

TEST(ChooseEnds, NothingButZeroHasNoEnds) {
  const Values values({0.0f, 0.0f, -0.0f});
  for (const auto objective :
       {HistogramObjective::kMse, HistogramObjective::kKl, HistogramObjective::kPercentile}) {
    for (const bool two_sided : {false, true}) {
      const CodeEnds found = ChooseEnds(values.histogram, values.Request(objective, two_sided));
      EXPECT_EQ(found.high, 0.0);
      EXPECT_EQ(found.low, 0.0);
    }
  }
}

}  // namespace
}  // namespace qb
