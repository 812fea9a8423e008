#include "core/quantization/channel_fit.h"

#include <algorithm>
#include <cmath>

namespace qb {
namespace {

constexpr int64_t kPieces = 2048;
constexpr double kLeastScale = 0.5, kMostScale = 2.0;
constexpr int kNewtonSteps = 4;
// Adam, with the constants of its authors (Kingma and Ba, 2015, algorithm 1).
constexpr double kMomentum = 0.9, kSecondMomentum = 0.999, kEpsilon = 1e-8;
constexpr double kTiny = 1e-30;

std::vector<double> ResultsOf(const FitData& data, const ChannelFit& fit,
                              const ResponseCurve& curve) {
  std::vector<double> results(data.sums.size());
  const size_t channels = static_cast<size_t>(data.channels);
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t c = i % channels;
    results[i] = curve.Value(fit.scale[c] * static_cast<double>(data.sums[i]) + fit.shift[c]);
  }
  return results;
}

// Of `y` against the targets; `slopes` gets the derivatives by y.
double MseOf(const FitData& data, const std::vector<double>& y, std::vector<double>& slopes) {
  double noise = 0.0, signal = kTiny;
  for (size_t i = 0; i < y.size(); ++i) {
    const double target = data.targets[i];
    slopes[i] = y[i] - target;
    noise += slopes[i] * slopes[i];
    signal += target * target;
  }
  for (double& slope : slopes) {
    slope *= 2.0 / signal;
  }
  return noise / signal;
}

double CosineLossOf(const FitData& data, const std::vector<double>& y,
                    std::vector<double>& slopes) {
  double product = 0.0, own = kTiny, other = kTiny;
  for (size_t i = 0; i < y.size(); ++i) {
    const double target = data.targets[i];
    product += y[i] * target;
    own += y[i] * y[i];
    other += target * target;
  }
  const double norms = std::sqrt(own) * std::sqrt(other);
  for (size_t i = 0; i < y.size(); ++i) {
    slopes[i] = (product * y[i] / own - static_cast<double>(data.targets[i])) / norms;
  }
  return 1.0 - product / norms;
}

// log(sum(exp(x))) of one place.
template <typename T>
double LogSum(const T* x, size_t count) {
  const double largest = static_cast<double>(*std::max_element(x, x + count));
  double sum = 0.0;
  for (size_t c = 0; c < count; ++c) {
    sum += std::exp(static_cast<double>(x[c]) - largest);
  }
  return largest + std::log(sum);
}

double KlOf(const FitData& data, const std::vector<double>& y, std::vector<double>& slopes) {
  const size_t channels = static_cast<size_t>(data.channels);
  const double places = static_cast<double>(data.places());
  double divergence = 0.0;
  for (size_t first = 0; first < y.size(); first += channels) {
    const double of_y = LogSum(y.data() + first, channels);
    const double of_target = LogSum(data.targets.data() + first, channels);
    for (size_t i = first; i < first + channels; ++i) {
      const double log_wanted = static_cast<double>(data.targets[i]) - of_target;
      const double log_found = y[i] - of_y;
      divergence += std::exp(log_wanted) * (log_wanted - log_found);
      slopes[i] = (std::exp(log_found) - std::exp(log_wanted)) / places;
    }
  }
  return divergence / places;
}

FitData Together(const std::vector<FitData>& samples, size_t begin, size_t end) {
  FitData all;
  all.channels = samples[begin].channels;
  for (size_t i = begin; i < end; ++i) {
    all.sums.insert(all.sums.end(), samples[i].sums.begin(), samples[i].sums.end());
    all.targets.insert(all.targets.end(), samples[i].targets.begin(), samples[i].targets.end());
  }
  return all;
}

// What least squares needs of one channel at one place of scale and shift.
struct Normal {
  double uu = 0.0, u1 = 0.0, one = 0.0;  // of slopes squared
  double ur = 0.0, r = 0.0;              // of slope times what is missing
  double error = 0.0;
};

Normal NormalOf(const FitData& data, size_t channel, double scale, double shift,
                const ResponseCurve& curve) {
  Normal normal;
  for (size_t i = channel; i < data.sums.size(); i += static_cast<size_t>(data.channels)) {
    const double u = data.sums[i];
    const double x = scale * u + shift;
    const double missing = static_cast<double>(data.targets[i]) - curve.Value(x);
    const double slope = curve.Slope(x);
    normal.uu += slope * slope * u * u;
    normal.u1 += slope * slope * u;
    normal.one += slope * slope;
    normal.ur += slope * u * missing;
    normal.r += slope * missing;
    normal.error += missing * missing;
  }
  return normal;
}

void FitByItself(const FitData& data, size_t channel, const ResponseCurve& curve, ChannelFit& fit) {
  double& scale = fit.scale[channel];
  double& shift = fit.shift[channel];
  Normal at = NormalOf(data, channel, scale, shift, curve);
  for (int step = 0; step < kNewtonSteps; ++step) {
    const double determinant = at.uu * at.one - at.u1 * at.u1;
    if (!(determinant > 1e-12 * at.uu * at.one)) {
      return;  // one value everywhere, or a flat curve
    }
    const double next_scale =
        std::clamp(scale + (at.ur * at.one - at.r * at.u1) / determinant, kLeastScale, kMostScale);
    const double next_shift = shift + (at.uu * at.r - at.u1 * at.ur) / determinant;
    const Normal next = NormalOf(data, channel, next_scale, next_shift, curve);
    if (!(next.error < at.error)) {
      return;
    }
    scale = next_scale;
    shift = next_shift;
    at = next;
  }
}

// Root mean square of each channel's targets: the unit of its shift.
std::vector<double> UnitsOf(const FitData& data) {
  std::vector<double> units(static_cast<size_t>(data.channels), kTiny);
  for (size_t i = 0; i < data.targets.size(); ++i) {
    const double target = data.targets[i];
    units[i % units.size()] += target * target;
  }
  for (double& unit : units) {
    unit = std::sqrt(unit / static_cast<double>(data.places()));
  }
  return units;
}

// One parameter a channel.
class Adam {
 public:
  explicit Adam(size_t count) : mean_(count, 0.0), square_(count, 0.0) {}

  // What to add to parameter `i` of the given gradient, in step `step` from 1 on.
  double Step(size_t i, double gradient, int64_t step, double rate) {
    mean_[i] = kMomentum * mean_[i] + (1.0 - kMomentum) * gradient;
    square_[i] = kSecondMomentum * square_[i] + (1.0 - kSecondMomentum) * gradient * gradient;
    const double mean = mean_[i] / (1.0 - std::pow(kMomentum, static_cast<double>(step)));
    const double square = square_[i] / (1.0 - std::pow(kSecondMomentum, static_cast<double>(step)));
    return -rate * mean / (std::sqrt(square) + kEpsilon);
  }

 private:
  std::vector<double> mean_, square_;
};

}  // namespace

ResponseCurve::ResponseCurve(const std::function<double(double)>& function, double low, double high)
    : low_(low), step_((high - low) / static_cast<double>(kPieces)) {
  values_.reserve(static_cast<size_t>(kPieces) + 1);
  for (int64_t i = 0; i <= kPieces; ++i) {
    const double value = function(low + step_ * static_cast<double>(i));
    values_.push_back(std::isfinite(value) ? value : 0.0);
  }
}

size_t ResponseCurve::PieceOf(double x) const {
  const double piece = std::floor((x - low_) / step_);
  return static_cast<size_t>(std::clamp(piece, 0.0, static_cast<double>(kPieces - 1)));
}

double ResponseCurve::Slope(double x) const {
  const size_t piece = PieceOf(x);
  return (values_[piece + 1] - values_[piece]) / step_;
}

double ResponseCurve::Value(double x) const {
  const size_t piece = PieceOf(x);
  return values_[piece] + Slope(x) * (x - low_ - step_ * static_cast<double>(piece));
}

ChannelFit ChannelFit::Identity(int64_t channels) {
  const size_t count = static_cast<size_t>(channels);
  return {std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
}

double LossOf(const FitData& data, const ChannelFit& fit, const ResponseCurve& curve, FitLoss loss,
              ChannelFit* gradient) {
  const std::vector<double> y = ResultsOf(data, fit, curve);
  std::vector<double> slopes(y.size());
  const double value = loss == FitLoss::kMse  ? MseOf(data, y, slopes)
                       : loss == FitLoss::kKl ? KlOf(data, y, slopes)
                                              : CosineLossOf(data, y, slopes);
  if (gradient == nullptr) {
    return value;
  }
  const size_t channels = static_cast<size_t>(data.channels);
  *gradient = {std::vector<double>(channels, 0.0), std::vector<double>(channels, 0.0)};
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = i % channels;
    const double u = data.sums[i];
    const double by_x = slopes[i] * curve.Slope(fit.scale[c] * u + fit.shift[c]);
    gradient->scale[c] += by_x * u;
    gradient->shift[c] += by_x;
  }
  return value;
}

ChannelFit FitChannels(const std::vector<FitData>& samples, const ResponseCurve& curve,
                       const FitOptions& options) {
  const FitData all = Together(samples, 0, samples.size());
  ChannelFit best = ChannelFit::Identity(all.channels);
  double least = LossOf(all, best, curve, options.loss);
  ChannelFit fit = best;
  const auto keep_if_better = [&] {
    const double loss = LossOf(all, fit, curve, options.loss);
    if (loss < least) {
      least = loss;
      best = fit;
    }
  };
  for (int64_t c = 0; c < all.channels; ++c) {
    FitByItself(all, static_cast<size_t>(c), curve, fit);
  }
  keep_if_better();
  fit = best;
  const std::vector<double> units = UnitsOf(all);
  Adam scales(units.size()), shifts(units.size());
  const size_t batch = static_cast<size_t>(options.batch_size);
  int64_t step = 0;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    for (size_t begin = 0; begin < samples.size(); begin += batch) {
      const FitData data = Together(samples, begin, std::min(begin + batch, samples.size()));
      ChannelFit gradient;
      LossOf(data, fit, curve, options.loss, &gradient);
      ++step;
      for (size_t c = 0; c < units.size(); ++c) {
        fit.scale[c] = std::clamp(
            fit.scale[c] + scales.Step(c, gradient.scale[c], step, options.learning_rate),
            kLeastScale, kMostScale);
        fit.shift[c] +=
            units[c] * shifts.Step(c, gradient.shift[c] * units[c], step, options.learning_rate);
      }
    }
    keep_if_better();
  }
  return best;
}

}  // namespace qb
