#include "core/quantization/channel_factors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/transpose_convolution.h"
#include "core/quantization/linear_form.h"

namespace qb {
namespace {

// Peak over root mean square of an activation, as trained networks have it where peaks are clipped.
constexpr double kCrest = 4.0;
// No channel gets steps finer than this part of the value's: what is zero for all we know needs
// none.
constexpr double kLeastFactor = 0x1p-10;
constexpr auto kExponents = std::to_array<double>({0.0, 0.25, 0.5, 0.75, 1.0});

// A fused clamp has one code for all channels. Zero has that, and an upper bound needs none: the
// codes of no channel go beyond it, as its steps are at most those of the value.
bool ClampsAtZero(const Activation& activation) {
  return activation.kind != ActivationKind::kClip ||
         (activation.min == 0.0f && activation.max > 0.0f);
}

bool ClampsAtZero(const Node& linear) {
  switch (linear.op()) {
    case OpKind::kConvolution:
      return ClampsAtZero(linear.attrs<ConvolutionAttrs>().activation);
    case OpKind::kTransposeConvolution:
      return ClampsAtZero(linear.attrs<TransposeConvolutionAttrs>().activation);
    case OpKind::kMatMul:
      return ClampsAtZero(linear.attrs<MatMulAttrs>().activation);
    default:
      return true;  // a batch normalization has none
  }
}

bool WritesByChannel(const Node& value, const PointwiseClosures& closures,
                     const absl::flat_hash_set<const Node*>& wide) {
  if (const Node* source = closures.SourceOf(&value); source != nullptr) {
    return wide.contains(source) && source->shape() == value.shape();
  }
  return IsLinear(value) && ClampsAtZero(value);
}

// A layer that reads the value.
class Reader {
 public:
  Reader(LinearForm form, int weight_bits)
      : form_(std::move(form)),
        most_weight_(weight_bits == 16 ? 32639.0 : (weight_bits == 8 ? 127.0 : 7.0)) {}

  // What rounding codes of these steps, and weights that took the steps in, adds to the squared
  // results of the layer at one place, over all its channels.
  double Error(const std::vector<double>& steps, const std::vector<double>& peaks) const {
    const size_t inputs = static_cast<size_t>(form_.window.channels / form_.groups);
    const size_t outputs = static_cast<size_t>(form_.channels_out());
    const size_t taps = static_cast<size_t>(form_.window.kernel_h * form_.window.kernel_w);
    const size_t group_out = outputs / static_cast<size_t>(form_.groups);
    const float* weights = form_.weights.data<float>();
    double error = 0.0;
    for (size_t m = 0; m < outputs; ++m) {
      const size_t first = m / group_out * inputs;
      double largest = 0.0, squares = 0.0;
      for (size_t tap = 0; tap < taps; ++tap) {
        for (size_t c = first; c < first + inputs; ++c) {
          const double weight = *weights++ * steps[c];
          largest = std::max(largest, std::abs(weight));
          squares += weight * weight;
        }
      }
      double power = 0.0;  // of the codes under one tap
      for (size_t c = first; c < first + inputs; ++c) {
        const double code = peaks[c] / steps[c] / kCrest;
        power += code * code;
      }
      const double weight_step = largest / most_weight_;
      error += squares + weight_step * weight_step * power * static_cast<double>(taps);
    }
    return error / 12.0;
  }

 private:
  LinearForm form_;
  double most_weight_;
};

double ErrorOf(const std::vector<Reader>& readers, const std::vector<double>& steps,
               const std::vector<double>& peaks) {
  double error = 0.0;
  for (const Reader& reader : readers) {
    error += reader.Error(steps, peaks);
  }
  return error;
}

// The step with which the codes reach from -low to high; 16-bit ones twice as far, as those of the
// value do.
double StepFor(double high, double low, const ValueScale& scale) {
  if (scale.dtype == DType::kInt16) {
    return 2.0 * std::max(high, low) / 32767.0;
  }
  const double above = 127.0 - scale.zero_point;
  const double below = scale.zero_point == 0 ? 127.0 : 128.0 + scale.zero_point;
  return std::max(high / above, below > 0.0 ? low / below : 0.0);
}

}  // namespace

bool CanHaveChannelFactors(const Node& value, const PointwiseClosures& closures,
                           const absl::flat_hash_set<const Node*>& wide) {
  const int64_t rank = value.shape().rank();
  if (rank == 0 || value.shape()[rank - 1] < 2 || value.users().empty()) {
    return false;
  }
  const bool read_by_weights =
      std::all_of(value.users().begin(), value.users().end(),
                  [&](const Node* user) { return IsLinear(*user) && user->operand(0) == &value; });
  return read_by_weights && WritesByChannel(value, closures, wide);
}

std::vector<float> ChooseChannelFactors(const Node& value, const ValueScale& scale,
                                        const ChannelExtremes& extremes,
                                        const LayerSettings& settings) {
  const double step = scale.scale;
  std::vector<double> needed, peaks;
  needed.reserve(extremes.max.size());
  peaks.reserve(extremes.max.size());
  for (size_t c = 0; c < extremes.max.size(); ++c) {
    const double high = extremes.max[c], low = -static_cast<double>(extremes.min[c]);
    needed.push_back(std::clamp(StepFor(high, low, scale), step * kLeastFactor, step));
    peaks.push_back(std::max(high, low));
  }
  std::vector<Reader> readers;
  for (const Node* user : value.users()) {
    absl::StatusOr<LinearForm> form = LinearFormOf(*user);
    if (!form.ok()) {
      return {};  // the lowering of that layer says why
    }
    readers.emplace_back(*std::move(form), settings.WeightBits(user));
  }
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> best;
  for (const double exponent : kExponents) {
    std::vector<double> steps;
    for (const double own : needed) {
      steps.push_back(step * std::pow(own / step, exponent));
    }
    if (const double error = ErrorOf(readers, steps, peaks); error < least) {
      least = error;
      best = std::move(steps);
    }
  }
  if (std::all_of(best.begin(), best.end(), [&](double own) { return own == step; })) {
    return {};
  }
  std::vector<float> factors;
  for (const double own : best) {
    factors.push_back(static_cast<float>(own / step));
  }
  return factors;
}

}  // namespace qb
