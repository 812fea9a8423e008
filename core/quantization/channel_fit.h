// One scale and one shift for each channel of a layer, fitted to what the float model gives.
//
// With u what the integer layer sums up for a channel (in real units), y = f(scale * u + shift) is
// the layer's result, f being its clamp or the lookup table behind it. Rounding of y is left out:
// the gradient passes it straight through.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/types/span.h"

namespace qb {

// f as straight lines between evenly spaced knots; beyond them as the outermost pieces go on.
class ResponseCurve {
 public:
  // Precondition: low < high.
  ResponseCurve(const std::function<double(double)>& function, double low, double high);

  double Value(double x) const;
  double Slope(double x) const;  // of the piece that x lies on

 private:
  size_t PieceOf(double x) const;

  double low_, step_;
  std::vector<double> values_;
};

// How far results are from the float model's.
enum class FitLoss {
  kMse,     // sum of squared errors over the sum of squares of the targets
  kKl,      // divergence of softmax over the channels, mean of all places
  kCosine,  // 1 - cosine of everything together
};

// Places of one or more samples, each with all channels: [places, channels].
struct FitData {
  int64_t channels = 1;
  std::vector<float> sums;     // u
  std::vector<float> targets;  // what y should be

  int64_t places() const { return static_cast<int64_t>(sums.size()) / channels; }
};

struct ChannelFit {
  std::vector<double> scale, shift;  // one each a channel

  static ChannelFit Identity(int64_t channels);
};

// The loss; with `gradient` also its derivatives by all scales and shifts.
double LossOf(const FitData& data, const ChannelFit& fit, const ResponseCurve& curve, FitLoss loss,
              ChannelFit* gradient = nullptr);

struct FitOptions {
  FitLoss loss = FitLoss::kMse;
  int64_t epochs = 1;
  double learning_rate = 1e-3;  // a step as a share of the scale, and of a channel's deviation
  int64_t batch_size = 1;       // samples a step
};

// First each channel by itself to the least squared error (Gauss-Newton; one step where f is a
// straight line), then all together by Adam over `samples`, `batch_size` of them a step. The best
// of what either comes to by options.loss over all samples, the identity included. Scales stay
// between a half and two. Depends on the order of the samples.
ChannelFit FitChannels(const std::vector<FitData>& samples, const ResponseCurve& curve,
                       const FitOptions& options);

}  // namespace qb
