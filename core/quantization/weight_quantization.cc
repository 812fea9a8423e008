#include "core/quantization/weight_quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/requant.h"

namespace qb {
namespace {

constexpr double kMostMultiplier = 0x1p29;
constexpr double kSmallestWeightScale = 1e-30;
constexpr int64_t kNarrowLimit = (int64_t{1} << 31) - 1;
constexpr int64_t kWideLimit = (int64_t{1} << 62) - 1;
// Above the exact need, so that rounding cannot bring the channel back over the limit.
constexpr double kScaleMargin = 1.0001;
// Scales that 4-bit weights try, from half of the largest magnitude's up.
constexpr int kScaleTrials = 41;

struct QuantizedChannel {
  float scale = 1.0f;
  int64_t bias = 0;
};

struct FloatChannel {
  absl::Span<const float> weights;
  float bias = 0.0f;
  float output_step = 1.0f;
};

float MostWeight(int bits) { return bits == 16 ? 32639.0f : (bits == 8 ? 127.0f : 7.0f); }

// What the channels of one layer have in common.
struct ChannelRules {
  const LinearPrecision& precision;
  bool wide = false;  // 64-bit sums

  int64_t limit() const { return wide ? kWideLimit : kNarrowLimit; }
  int64_t largest_input() const {
    if (precision.input.dtype == DType::kInt16) {
      return 32767;
    }
    return precision.input.zero_point == 0 ? 128 : 255;
  }
};

// Rounded half to even by adding 1.5 * 2^23, which leaves no fraction bits. Codes of one channel.
template <typename Code>
int64_t RoundWeights(absl::Span<const float> weights, float scale, float most, Code* codes) {
  constexpr float kRounder = 12582912.0f;
  const float inverse = static_cast<float>(1.0 / static_cast<double>(scale));
  int64_t magnitude = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const float held = std::min(std::max(weights[k] * inverse, -most), most);
    const int32_t code = static_cast<int32_t>((held + kRounder) - kRounder);
    codes[k] = static_cast<Code>(code);
    magnitude += code < 0 ? -code : code;
  }
  return magnitude;
}

// Quantizes one channel at channel.scale; returns the largest accumulator magnitude it can reach.
template <typename Code>
int64_t QuantizeAt(const FloatChannel& real, const ChannelRules& rules, QuantizedChannel& channel,
                   Code* codes) {
  const int64_t magnitude =
      RoundWeights(real.weights, channel.scale, MostWeight(rules.precision.weight_bits), codes);
  const double bias_code =
      static_cast<double>(real.bias) /
      (static_cast<double>(rules.precision.input.scale) * static_cast<double>(channel.scale));
  const double most = rules.wide ? 0x1p61 : 0x1p40;
  const int64_t rounded = RoundHalfEven(std::clamp(bias_code, -most, most));
  channel.bias = std::clamp<int64_t>(rounded, -rules.limit(), rules.limit());
  const int64_t of_weights = magnitude * rules.largest_input();
  return of_weights + std::abs(rounded);
}

double SquaredError(absl::Span<const float> weights, float scale, absl::Span<const int8_t> codes) {
  double error = 0.0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double off = static_cast<double>(weights[k]) - static_cast<double>(scale) * codes[k];
    error += off * off;
  }
  return error;
}

// Few codes are better spent on the many small weights than on the largest one.
double BestNarrowScale(absl::Span<const float> weights, double largest_scale, int8_t* codes) {
  double best = largest_scale;
  double least = std::numeric_limits<double>::infinity();
  for (int trial = 0; trial < kScaleTrials; ++trial) {
    const double scale = largest_scale * (1.0 - 0.5 * trial / (kScaleTrials - 1));
    const float held = static_cast<float>(std::max(scale, kSmallestWeightScale));
    RoundWeights(weights, held, MostWeight(4), codes);
    const double error = SquaredError(weights, held, {codes, weights.size()});
    if (error < least) {
      least = error;
      best = scale;
    }
  }
  return best;
}

template <typename Code>
QuantizedChannel QuantizeChannel(const FloatChannel& real, const ChannelRules& rules, Code* codes) {
  float largest = 0.0f;
  for (const float weight : real.weights) {
    largest = std::max(largest, std::abs(weight));
  }
  const LinearPrecision& precision = rules.precision;
  QuantizedChannel channel;
  double scale =
      static_cast<double>(largest) / static_cast<double>(MostWeight(precision.weight_bits));
  const bool dead = scale < kSmallestWeightScale;
  if (dead) {
    scale = static_cast<double>(real.output_step) /
            (256.0 * static_cast<double>(precision.input.scale));
  }
  if constexpr (std::is_same_v<Code, int8_t>) {
    if (!dead && precision.weight_bits == 4) {
      scale = BestNarrowScale(real.weights, scale, codes);
    }
  }
  // Each round enlarges the scale by what is missing; the first nearly always fits.
  for (int round = 0; round < 64; ++round) {
    channel.scale = static_cast<float>(std::clamp(scale, kSmallestWeightScale, 1e30));
    const int64_t reach = QuantizeAt(real, rules, channel, codes);
    if (dead) {
      std::fill(codes, codes + real.weights.size(), Code{0});
    }
    if (reach <= rules.limit()) {
      break;
    }
    scale = static_cast<double>(channel.scale) * kScaleMargin * static_cast<double>(reach) /
            static_cast<double>(rules.limit());
  }
  return channel;
}

absl::Status CheckFinite(const Node& node, absl::Span<const float> values, absl::string_view what) {
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return Failure(FailureCode::kModelParseError,
                     absl::StrCat("quantization: layer '", node.name(), "' has ", what,
                                  " that is NaN or infinite; finite numbers are accepted"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t RoundHalfEven(double x) {
  const double floor = std::floor(x);
  const double fraction = x - floor;
  const int64_t low = static_cast<int64_t>(floor);
  return fraction > 0.5 || (fraction == 0.5 && low % 2 != 0) ? low + 1 : low;
}

integer::Requant RequantFor(double multiplier) {
  absl::StatusOr<integer::Requant> requant =
      integer::RequantFromMultiplier(std::min(multiplier, kMostMultiplier));
  QB_CHECK_MSG(requant.ok(), "multiplier ", multiplier);
  return *requant;
}

int32_t CodeOf(double real, const ValueScale& scale) {
  const double steps = std::isnan(real) ? 0.0 : real / static_cast<double>(scale.scale);
  return static_cast<int32_t>(
      std::clamp<int64_t>(scale.zero_point + RoundHalfEven(std::clamp(steps, -1e6, 1e6)),
                          integer::LeastCode(scale.dtype), integer::MostCode(scale.dtype)));
}

CodeRange CodesOf(const Activation& activation, const ValueScale& scale) {
  const CodeRange all{integer::LeastCode(scale.dtype), integer::MostCode(scale.dtype)};
  switch (activation.kind) {
    case ActivationKind::kNone:
      return all;
    case ActivationKind::kRelu:
      return {scale.zero_point, all.high};
    case ActivationKind::kClip: {
      const int32_t low = CodeOf(activation.min, scale);
      return {low, std::max(low, CodeOf(activation.max, scale))};
    }
  }
  return all;
}

namespace {

// Everything but weights, biases and multipliers.
integer::ConvParams GeometryOf(const LinearForm& form) {
  const WindowGeometry& window = form.window;
  integer::ConvParams conv;
  conv.kernel_h = window.kernel_h;
  conv.kernel_w = window.kernel_w;
  conv.stride_h = window.stride_h;
  conv.stride_w = window.stride_w;
  conv.dilation_h = window.dilation_h;
  conv.dilation_w = window.dilation_w;
  conv.pad_top = window.pad_top;
  conv.pad_bottom = form.pad_bottom;
  conv.pad_left = window.pad_left;
  conv.pad_right = form.pad_right;
  conv.groups = form.groups;
  return conv;
}

// Weights of result channel m for an input whose channels are divided by `factors`.
std::vector<float> WithFactors(const LinearForm& form, size_t m,
                               const std::vector<float>& factors) {
  const size_t products = static_cast<size_t>(form.products());
  const size_t inputs = static_cast<size_t>(form.window.channels / form.groups);
  const size_t group_out = form.bias.size() / static_cast<size_t>(form.groups);
  const float* weights = form.weights.data<float>() + m * products;
  const float* of_group = factors.data() + m / group_out * inputs;
  std::vector<float> scaled(products);
  for (size_t k = 0; k < products; ++k) {
    scaled[k] = weights[k] * of_group[k % inputs];
  }
  return scaled;
}

float OutputStep(const ValueScale& output, size_t m) {
  return output.channel_factors.empty() ? output.scale : output.scale * output.channel_factors[m];
}

// What makes real units of a weight's codes where those of result channel m stand for output.scale,
// as a reader of the layer alone takes them.
float WeightScale(const ValueScale& output, size_t m, float scale) {
  return output.channel_factors.empty() ? scale : scale / output.channel_factors[m];
}

template <typename Code>
void QuantizeChannels(const LinearForm& form, const ChannelRules& rules, std::vector<Code>& codes,
                      integer::ConvParams& conv) {
  const absl::Span<const float> weights = form.weights.values<float>();
  codes.resize(weights.size());
  const size_t products = static_cast<size_t>(form.products());
  std::vector<float> scaled;
  for (size_t m = 0; m < form.bias.size(); ++m) {
    absl::Span<const float> of_channel = weights.subspan(m * products, products);
    if (!rules.precision.input.channel_factors.empty()) {
      scaled = WithFactors(form, m, rules.precision.input.channel_factors);
      of_channel = scaled;
    }
    const QuantizedChannel channel =
        QuantizeChannel({of_channel, form.bias[m], OutputStep(rules.precision.output, m)}, rules,
                        codes.data() + m * products);
    const float weight_scale = WeightScale(rules.precision.output, m, channel.scale);
    conv.weight_scales.push_back(weight_scale);
    if (rules.wide) {
      conv.wide_bias.push_back(channel.bias);
    } else {
      conv.bias.push_back(static_cast<int32_t>(channel.bias));
    }
    // Of the scales that are written down, so that an export multiplies with the same number.
    conv.requant.push_back(RequantFor(static_cast<double>(rules.precision.input.scale) *
                                      static_cast<double>(weight_scale) /
                                      static_cast<double>(rules.precision.output.scale)));
  }
}

}  // namespace

absl::StatusOr<integer::ConvParams> QuantizeLinear(const Node& node, const LinearForm& form,
                                                   const LinearPrecision& precision) {
  QB_RETURN_IF_ERROR(CheckFinite(node, form.weights.values<float>(), "a weight"));
  QB_RETURN_IF_ERROR(CheckFinite(node, form.bias, "a bias"));
  integer::ConvParams conv = GeometryOf(form);
  conv.weight_bits = precision.weight_bits;
  const CodeRange codes = CodesOf(form.activation, precision.output);
  conv.clamp_min = codes.low;
  conv.clamp_max = codes.high;
  const ChannelRules rules{precision,
                           precision.input.dtype == DType::kInt16 || precision.weight_bits == 16};
  if (precision.weight_bits == 16) {
    QuantizeChannels(form, rules, conv.weights16, conv);
  } else {
    QuantizeChannels(form, rules, conv.weights, conv);
  }
  return conv;
}

bool ShiftBias(integer::ConvParams& conv, int64_t channel, double shift,
               const integer::TensorInfo& input) {
  const bool wide = integer::IsWide(conv, input);
  const int64_t limit = int64_t{1} << (wide ? 62 : 31);
  const double most = wide ? 0x1p61 : 0x1p31 - 1;
  const int64_t before = conv.bias_of(channel);
  const int64_t wanted = before + RoundHalfEven(std::clamp(shift, -most, most));
  conv.set_bias(channel, std::clamp<int64_t>(wanted, -static_cast<int64_t>(most),
                                             static_cast<int64_t>(most)));
  if (integer::AccumulatorBound(conv, channel, input) >= limit) {
    conv.set_bias(channel, before);
    return false;
  }
  return true;
}

bool ReplaceChannel(integer::ConvParams& conv, int64_t channel, const ChannelCodes& wanted,
                    const integer::TensorInfo& input, const integer::TensorInfo& output) {
  QB_CHECK(conv.weight_bits != 16 && wanted.scale > 0.0f);
  const bool wide = integer::IsWide(conv, input);
  const double step = static_cast<double>(input.scale) * static_cast<double>(wanted.scale);
  const double most = wide ? 0x1p61 : 0x1p40;
  const int64_t bias =
      RoundHalfEven(std::clamp(static_cast<double>(wanted.bias) / step, -most, most));
  int64_t magnitude = 0;
  for (const int8_t code : wanted.codes) {
    magnitude += std::abs(int64_t{code});
  }
  const int64_t largest =
      input.dtype == DType::kInt16 ? 32767 : (input.zero_point == 0 ? 128 : 255);
  if (magnitude * largest + std::abs(bias) > (wide ? kWideLimit : kNarrowLimit)) {
    return false;
  }
  const size_t at = static_cast<size_t>(channel);
  std::copy(wanted.codes.begin(), wanted.codes.end(),
            conv.weights.begin() + channel * static_cast<int64_t>(wanted.codes.size()));
  // In the units of whoever reads the layer's codes: channels scaled to one step.
  conv.weight_scales[at] =
      output.channel_factors.empty() ? wanted.scale : wanted.scale / output.channel_factors[at];
  if (wide) {
    conv.wide_bias[at] = bias;
  } else {
    conv.bias[at] = static_cast<int32_t>(bias);
  }
  conv.requant[at] =
      RequantFor(static_cast<double>(input.scale) * static_cast<double>(conv.weight_scales[at]) /
                 static_cast<double>(output.scale));
  return true;
}

}  // namespace qb
