#include "core/quantization/channel_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace qb {
namespace {

constexpr int64_t kChannels = 5;

// Sums of `samples` samples, and the targets that `fit` makes of them with some noise.
std::vector<FitData> DataOf(const std::function<double(double)>& function, const ChannelFit& fit,
                            double noise, int samples = 6) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<FitData> data(static_cast<size_t>(samples));
  for (FitData& sample : data) {
    sample.channels = kChannels;
    for (int64_t i = 0; i < 40 * kChannels; ++i) {
      const size_t c = static_cast<size_t>(i % kChannels);
      const double u = normal(random) * (1.0 + static_cast<double>(c)) + 0.3;
      sample.sums.push_back(static_cast<float>(u));
      sample.targets.push_back(
          static_cast<float>(function(fit.scale[c] * u + fit.shift[c]) + noise * normal(random)));
    }
  }
  return data;
}

double Straight(double x) { return x; }
double Relu6(double x) { return std::clamp(x, 0.0, 6.0); }
double Swish(double x) { return x / (1.0 + std::exp(-x)); }

ChannelFit Wanted() { return {{1.1, 0.9, 1.0, 1.3, 0.7}, {0.5, -0.25, 0.0, 1.0, -2.0}}; }

TEST(ChannelFit, DerivativesAreThoseOfDifferences) {
  for (const auto& function : {Straight, Relu6, Swish}) {
    const ResponseCurve curve(function, -64.0, 64.0);
    const FitData data = DataOf(function, Wanted(), 0.3, 1)[0];
    for (const FitLoss loss : {FitLoss::kMse, FitLoss::kKl, FitLoss::kCosine}) {
      ChannelFit fit = ChannelFit::Identity(kChannels);
      ChannelFit gradient;
      const double value = LossOf(data, fit, curve, loss, &gradient);
      EXPECT_EQ(value, LossOf(data, fit, curve, loss));
      const auto difference = [&](double& parameter) {
        // Small enough that next to no sum changes its piece of the curve.
        constexpr double kStep = 1e-6;
        const double kept = parameter;
        parameter = kept + kStep;
        const double above = LossOf(data, fit, curve, loss);
        parameter = kept - kStep;
        const double below = LossOf(data, fit, curve, loss);
        parameter = kept;
        return (above - below) / (2 * kStep);
      };
      for (size_t c = 0; c < kChannels; ++c) {
        EXPECT_NEAR(difference(fit.scale[c]), gradient.scale[c], 2e-3 * std::abs(value));
        EXPECT_NEAR(difference(fit.shift[c]), gradient.shift[c], 2e-3 * std::abs(value));
      }
    }
  }
}

TEST(ChannelFit, FindsWhatMadeTheTargetsInClosedForm) {
  FitOptions none;
  none.epochs = 0;
  for (const auto& function : {Straight, Relu6, Swish}) {
    const ChannelFit fit =
        FitChannels(DataOf(function, Wanted(), 0.0), ResponseCurve(function, -64, 64), none);
    const double tolerance = function == Straight ? 1e-5 : 0.05;
    for (size_t c = 0; c < kChannels; ++c) {
      EXPECT_NEAR(fit.scale[c], Wanted().scale[c], tolerance) << c;
      EXPECT_NEAR(fit.shift[c], Wanted().shift[c], tolerance) << c;
    }
  }
}

// Channels whose squared errors are all at their least still gain in divergence.
TEST(ChannelFit, TrainsOnTheLossThatIsAskedFor) {
  const std::vector<FitData> data = DataOf(Straight, Wanted(), 1.5);
  FitData all;
  all.channels = kChannels;
  for (const FitData& sample : data) {
    all.sums.insert(all.sums.end(), sample.sums.begin(), sample.sums.end());
    all.targets.insert(all.targets.end(), sample.targets.begin(), sample.targets.end());
  }
  const ResponseCurve curve(Straight, -64, 64);
  for (const FitLoss loss : {FitLoss::kKl, FitLoss::kCosine}) {
    FitOptions options;
    options.loss = loss;
    options.epochs = 0;
    const double closed = LossOf(all, FitChannels(data, curve, options), curve, loss);
    options.epochs = 40;
    options.learning_rate = 1e-2;
    options.batch_size = 3;
    const double trained = LossOf(all, FitChannels(data, curve, options), curve, loss);
    if (loss == FitLoss::kKl) {
      EXPECT_LT(trained, closed * 0.95);
    } else {
      EXPECT_LE(trained, closed);  // least squares are next to the least angle already
    }
  }
}

TEST(ChannelFit, LeavesWhatIsRightOrSaysNothing) {
  const std::vector<FitData> right = DataOf(Straight, ChannelFit::Identity(kChannels), 0.0);
  const ResponseCurve curve(Straight, -64, 64);
  const ChannelFit kept = FitChannels(right, curve, {});
  EXPECT_THAT(kept.scale, ::testing::Each(::testing::DoubleNear(1.0, 1e-6)));
  std::vector<FitData> still(1);
  still[0].channels = 2;
  still[0].sums.assign(20, 1.0f);
  still[0].targets.assign(20, 0.0f);
  const ChannelFit quiet = FitChannels(still, ResponseCurve([](double) { return 0.0; }, -1, 1), {});
  EXPECT_THAT(quiet.scale, ::testing::ElementsAre(1.0, 1.0));
}

}  // namespace
}  // namespace qb
