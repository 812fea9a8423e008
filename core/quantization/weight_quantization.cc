#include "core/quantization/weight_quantization.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/integer/requant.h"

namespace qb {
namespace {

constexpr double kMostMultiplier = 0x1p29;
constexpr double kSmallestWeightScale = 1e-30;
constexpr int64_t kAccumulatorLimit = (int64_t{1} << 31) - 1;
// Above the exact need, so that rounding cannot bring the channel back over the limit.
constexpr double kScaleMargin = 1.0001;

struct QuantizedChannel {
  float scale = 1.0f;
  int32_t bias = 0;
};

struct FloatChannel {
  absl::Span<const float> weights;
  float bias = 0.0f;
};

// Quantizes one channel at channel.scale; returns the largest accumulator magnitude it can reach.
int64_t QuantizeAt(const FloatChannel& real, const ValueScale& input, QuantizedChannel& channel,
                   int8_t* codes) {
  const absl::Span<const float> weights = real.weights;
  const int64_t largest_input = input.zero_point == 0 ? 128 : 255;
  const float inverse = static_cast<float>(1.0 / static_cast<double>(channel.scale));
  // Adding 1.5 * 2^23 leaves no fraction bits: the sum is rounded half to even.
  constexpr float kRounder = 12582912.0f;
  int64_t magnitude = 0;
  for (size_t k = 0; k < weights.size(); ++k) {
    const float held = std::min(std::max(weights[k] * inverse, -127.0f), 127.0f);
    const int32_t code = static_cast<int32_t>((held + kRounder) - kRounder);
    codes[k] = static_cast<int8_t>(code);
    magnitude += code < 0 ? -code : code;
  }
  const double bias_code = static_cast<double>(real.bias) /
                           (static_cast<double>(input.scale) * static_cast<double>(channel.scale));
  const double held = std::clamp(bias_code, -0x1p40, 0x1p40);
  const int64_t rounded = RoundHalfEven(held);
  channel.bias =
      static_cast<int32_t>(std::clamp<int64_t>(rounded, -kAccumulatorLimit, kAccumulatorLimit));
  return magnitude * largest_input + std::abs(rounded);
}

QuantizedChannel QuantizeChannel(const FloatChannel& real, const ValueScale& input,
                                 const ValueScale& output, int8_t* codes) {
  float largest = 0.0f;
  for (const float weight : real.weights) {
    largest = std::max(largest, std::abs(weight));
  }
  QuantizedChannel channel;
  double scale = static_cast<double>(largest) / 127.0;
  const bool dead = scale < kSmallestWeightScale;
  if (dead) {
    scale = static_cast<double>(output.scale) / (256.0 * static_cast<double>(input.scale));
  }
  // Each round enlarges the scale by what is missing; the first nearly always fits.
  for (int round = 0; round < 64; ++round) {
    channel.scale = static_cast<float>(std::clamp(scale, kSmallestWeightScale, 1e30));
    const int64_t reach = QuantizeAt(real, input, channel, codes);
    if (dead) {
      std::fill(codes, codes + real.weights.size(), int8_t{0});
    }
    if (reach <= kAccumulatorLimit) {
      break;
    }
    scale = static_cast<double>(channel.scale) * kScaleMargin * static_cast<double>(reach) /
            static_cast<double>(kAccumulatorLimit);
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

int32_t CodeOf(double real, const ValueScale& scale) {
  const double steps = std::isnan(real) ? 0.0 : real / static_cast<double>(scale.scale);
  return static_cast<int32_t>(std::clamp<int64_t>(
      scale.zero_point + RoundHalfEven(std::clamp(steps, -1e6, 1e6)), -128, 127));
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

CodeRange CodesOf(const Activation& activation, const ValueScale& scale) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return {};
    case ActivationKind::kRelu:
      return {scale.zero_point, 127};
    case ActivationKind::kClip: {
      const int32_t low = CodeOf(activation.min, scale);
      return {low, std::max(low, CodeOf(activation.max, scale))};
    }
  }
  return {};
}

absl::StatusOr<integer::ConvParams> QuantizeLinear(const Node& node, const LinearForm& form,
                                                   const ValueScale& input,
                                                   const ValueScale& output) {
  const WindowGeometry& window = form.window;
  const absl::Span<const float> weights = form.weights.values<float>();
  QB_RETURN_IF_ERROR(CheckFinite(node, weights, "a weight"));
  QB_RETURN_IF_ERROR(CheckFinite(node, form.bias, "a bias"));
  const CodeRange codes = CodesOf(form.activation, output);
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
  conv.weights.resize(weights.size());
  conv.clamp_min = codes.low;
  conv.clamp_max = codes.high;
  const size_t products = static_cast<size_t>(form.products());
  for (size_t m = 0; m < form.bias.size(); ++m) {
    const QuantizedChannel channel =
        QuantizeChannel({weights.subspan(m * products, products), form.bias[m]}, input, output,
                        conv.weights.data() + m * products);
    conv.weight_scales.push_back(channel.scale);
    conv.bias.push_back(channel.bias);
    conv.requant.push_back(
        RequantFor(static_cast<double>(input.scale) * static_cast<double>(channel.scale) /
                   static_cast<double>(output.scale)));
  }
  return conv;
}

}  // namespace qb
