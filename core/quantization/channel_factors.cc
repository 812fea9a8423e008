#include "core/quantization/channel_factors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/movement.h"
#include "core/ops/transpose_convolution.h"
#include "core/quantization/linear_form.h"

namespace qb {
namespace {

// Peak over root mean square of an activation, as trained networks have it where peaks are clipped.
constexpr double kCrest = 4.0;
// No channel gets steps finer than this part of the value's: what is zero for all we know needs
// none.
constexpr double kLeastFactor = 0x1p-10;
// Beyond the ends that calibration saw in a channel: one channel of one value is seen far less than
// the whole, and what new data has above is clipped. 16-bit codes have the room.
constexpr double kHeadroom = 1.5;
constexpr double kWideHeadroom = 16.0;
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

// Steps of all channels that a layer reads, and the largest magnitudes there.
struct Channels {
  std::vector<double> steps, peaks;

  void Append(const Node& part, const ValueScale& scale) {
    const int64_t count = part.shape()[part.shape().rank() - 1];
    for (int64_t c = 0; c < count; ++c) {
      const std::vector<float>& factors = scale.channel_factors;
      const double factor = factors.empty() ? 1.0 : factors[static_cast<size_t>(c)];
      steps.push_back(factor * scale.scale);
      peaks.push_back(factor * scale.threshold);
    }
  }
  // Puts `part` in the place of the channels from `first` on.
  void Replace(size_t first, const Channels& part) {
    std::copy(part.steps.begin(), part.steps.end(),
              steps.begin() + static_cast<std::ptrdiff_t>(first));
    std::copy(part.peaks.begin(), part.peaks.end(),
              peaks.begin() + static_cast<std::ptrdiff_t>(first));
  }
};

// A layer that reads the value, perhaps joined with others.
class Reader {
 public:
  // The value's channels begin at `first` of `channels`, which are all that the layer reads.
  Reader(LinearForm form, int weight_bits, Channels channels, size_t first)
      : form_(std::move(form)),
        most_weight_(weight_bits == 16 ? 32639.0 : (weight_bits == 8 ? 127.0 : 7.0)),
        channels_(std::move(channels)),
        first_(first) {}

  // What rounding codes of these steps, and weights that took the steps in, adds to the squared
  // results of the layer at one place, over all its channels.
  double Error(const Channels& value) {
    channels_.Replace(first_, value);
    const auto& [steps, peaks] = channels_;
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
  Channels channels_;
  size_t first_;
};

// Adds those that read `value`: all of its channels, of which those of the value in question begin
// at `first`. False: the lowering of one of them will say why it cannot be.
bool AddReaders(const Node& value, const Channels& channels, size_t first,
                const LayerSettings& settings, std::vector<Reader>& readers) {
  for (const Node* user : value.users()) {
    if (user->op() == OpKind::kConcatenate) {
      continue;
    }
    absl::StatusOr<LinearForm> form = LinearFormOf(*user);
    if (!form.ok()) {
      return false;
    }
    readers.emplace_back(*std::move(form), settings.WeightBits(user), channels, first);
  }
  return true;
}

// Nothing where a layer cannot be lowered, or where the parts of what joins the value do not fit.
std::vector<Reader> ReadersOf(const Node& value, const FactorInputs& inputs) {
  std::vector<Reader> readers;
  Channels own;
  own.Append(value, inputs.scales.at(&value));
  if (!AddReaders(value, own, 0, inputs.settings, readers)) {
    return {};
  }
  for (const Node* user : value.users()) {
    if (user->op() != OpKind::kConcatenate) {
      continue;
    }
    if (!JoinedScale(*user, inputs.scales).has_value()) {
      return {};
    }
    Channels all;
    size_t first = 0;
    for (const Node* part : user->operands()) {
      first = part == &value ? all.steps.size() : first;
      all.Append(*part, inputs.scales.at(part));
    }
    if (!AddReaders(*user, all, first, inputs.settings, readers)) {
      return {};
    }
  }
  return readers;
}

// The step with which the codes reach from -low to high, and as far beyond as the headroom says.
double StepFor(double high, double low, const ValueScale& scale) {
  if (scale.dtype == DType::kInt16) {
    return kWideHeadroom * std::max(high, low) / 32767.0;
  }
  const double above = 127.0 - scale.zero_point;
  const double below = scale.zero_point == 0 ? 127.0 : 128.0 + scale.zero_point;
  return kHeadroom * std::max(high / above, below > 0.0 ? low / below : 0.0);
}

double ErrorOf(std::vector<Reader>& readers, const Channels& value) {
  double error = 0.0;
  for (Reader& reader : readers) {
    error += reader.Error(value);
  }
  return error;
}

// Empty where all are 1.
std::vector<float> FactorsOf(const std::vector<double>& steps, float scale) {
  std::vector<float> factors;
  factors.reserve(steps.size());
  bool all_one = true;
  for (const double step : steps) {
    factors.push_back(static_cast<float>(step / scale));
    all_one = all_one && factors.back() == 1.0f;
  }
  return all_one ? std::vector<float>() : factors;
}

bool ReadsWithWeights(const Node& user, const Node& value) {
  return IsLinear(user) && user.operand(0) == &value;
}

bool OnlyWeightsRead(const Node& value) {
  return std::all_of(value.users().begin(), value.users().end(),
                     [&](const Node* user) { return ReadsWithWeights(*user, value); });
}

}  // namespace

bool JoinsChannels(const Node& value, const PointwiseClosures& closures,
                   const absl::flat_hash_set<const Node*>& wide) {
  const int64_t rank = value.shape().rank();
  if (value.op() != OpKind::kConcatenate || value.attrs<ConcatenateAttrs>().axis != rank - 1 ||
      closures.SourceOf(&value) != nullptr || wide.contains(&value) || value.users().empty() ||
      !OnlyWeightsRead(value)) {
    return false;
  }
  absl::flat_hash_set<const Node*> parts;
  return std::all_of(value.operands().begin(), value.operands().end(), [&](const Node* part) {
    return !part->is_constant() && !wide.contains(part) && parts.insert(part).second;
  });
}

std::optional<ValueScale> JoinedScale(const Node& value,
                                      const absl::flat_hash_map<const Node*, ValueScale>& scales) {
  ValueScale joined = scales.at(value.operand(0));
  joined.channel_factors.clear();
  for (const Node* part : value.operands()) {
    const ValueScale& scale = scales.at(part);
    if (scale.zero_point != joined.zero_point || scale.dtype != joined.dtype) {
      return std::nullopt;
    }
    joined.scale = std::max(joined.scale, scale.scale);
    joined.threshold = std::max(joined.threshold, scale.threshold);
    joined.largest_seen = std::max(joined.largest_seen, scale.largest_seen);
    joined.saturation_share = std::max(joined.saturation_share, scale.saturation_share);
  }
  Channels channels;
  for (const Node* part : value.operands()) {
    channels.Append(*part, scales.at(part));
  }
  joined.channel_factors = FactorsOf(channels.steps, joined.scale);
  return joined;
}

bool CanHaveChannelFactors(const Node& value, const PointwiseClosures& closures,
                           const absl::flat_hash_set<const Node*>& wide) {
  const int64_t rank = value.shape().rank();
  if (rank == 0 || value.shape()[rank - 1] < 2 || value.users().empty()) {
    return false;
  }
  const bool read_by_weights =
      std::all_of(value.users().begin(), value.users().end(), [&](const Node* user) {
        return ReadsWithWeights(*user, value) || JoinsChannels(*user, closures, wide);
      });
  return read_by_weights && WritesByChannel(value, closures, wide);
}

std::vector<float> ChooseChannelFactors(const Node& value, const FactorInputs& inputs) {
  const ValueScale& scale = inputs.scales.at(&value);
  const ChannelExtremes& extremes = inputs.extremes;
  const double step = scale.scale;
  std::vector<double> needed;
  Channels channels;
  needed.reserve(extremes.max.size());
  channels.peaks.reserve(extremes.max.size());
  for (size_t c = 0; c < extremes.max.size(); ++c) {
    const double high = extremes.max[c], low = -static_cast<double>(extremes.min[c]);
    needed.push_back(std::clamp(StepFor(high, low, scale), step * kLeastFactor, step));
    channels.peaks.push_back(std::max(high, low));
  }
  std::vector<Reader> readers = ReadersOf(value, inputs);
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> best(needed.size(), step);
  for (const double exponent : kExponents) {
    channels.steps.clear();
    channels.steps.reserve(needed.size());
    for (const double own : needed) {
      channels.steps.push_back(step * std::pow(own / step, exponent));
    }
    if (const double error = ErrorOf(readers, channels); error < least) {
      least = error;
      best = channels.steps;
    }
  }
  return FactorsOf(best, scale.scale);
}

}  // namespace qb
