#include "core/integer/requant.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace qb::integer {
namespace {

// Multipliers of an addition stay below this: products with |x - zp| <= 255 stay below 2^41.
constexpr double kMostAddMultiplier = 4294967296.0;
constexpr int32_t kMostAddShift = 62;

// std::nearbyint follows the rounding mode; half to even is the mode that a process starts with, but
// a number in a file must not depend on it.
double RoundHalfEven(double value) {
  const double floor = std::floor(value);
  const double fraction = value - floor;
  if (fraction != 0.5) {
    return fraction < 0.5 ? floor : floor + 1.0;
  }
  return std::fmod(floor, 2.0) == 0.0 ? floor : floor + 1.0;
}

}  // namespace

int64_t DivideRoundHalfEven(int64_t numerator, int64_t denominator) {
  const int64_t quotient = numerator / denominator;
  const int64_t twice = 2 * (numerator % denominator);
  const bool up = twice > denominator || (twice == denominator && (quotient & 1) != 0);
  return quotient + (up ? 1 : 0);
}

absl::StatusOr<Requant> RequantFromMultiplier(double multiplier) {
  if (!(multiplier >= 0.0) || !(multiplier < 1073741824.0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a rescaling by ", multiplier, " has no fixed-point form; accepted: [0, 2^30)"));
  }
  if (multiplier == 0.0) {
    return Requant{0, 1};
  }
  int exponent = 0;
  const double fraction = std::frexp(multiplier, &exponent);  // [0.5, 1)
  int32_t shift = 31 - exponent;
  double mantissa = 0;
  if (shift > 62) {
    shift = 62;
    mantissa = RoundHalfEven(std::ldexp(multiplier, 62));
  } else {
    mantissa = RoundHalfEven(std::ldexp(fraction, 31));
  }
  if (mantissa >= 2147483648.0) {
    mantissa /= 2;
    --shift;
  }
  if (shift < 1) {  // only a value that was rounded up to 2^30
    return Requant{2147483647, 1};
  }
  return Requant{static_cast<int32_t>(mantissa), shift};
}

double MultiplierOf(Requant requant) {
  return std::ldexp(static_cast<double>(requant.mantissa), -requant.shift);
}

absl::StatusOr<AddScaling> AddScalingFromRatios(double ratio_a, double ratio_b) {
  for (const double ratio : {ratio_a, ratio_b}) {
    if (!(ratio > 0.0) || !(ratio < 1073741824.0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an addition cannot rescale an operand by ", ratio, "; accepted: (0, 2^30)"));
    }
  }
  AddScaling scaling;
  const double larger = std::max(ratio_a, ratio_b);
  int exponent = 0;
  std::frexp(larger, &exponent);  // larger < 2^exponent
  scaling.shift = std::clamp(32 - exponent, 1, kMostAddShift);
  if (RoundHalfEven(std::ldexp(larger, scaling.shift)) >= kMostAddMultiplier && scaling.shift > 1) {
    --scaling.shift;
  }
  scaling.multiplier_a = static_cast<int64_t>(RoundHalfEven(std::ldexp(ratio_a, scaling.shift)));
  scaling.multiplier_b = static_cast<int64_t>(RoundHalfEven(std::ldexp(ratio_b, scaling.shift)));
  return scaling;
}

int64_t AccumulatorBound(const ConvParams& conv, int64_t channel, int32_t input_zero_point) {
  const int64_t channels = static_cast<int64_t>(conv.bias.size());
  const int64_t length = static_cast<int64_t>(conv.weights.size()) / channels;
  const int8_t* weights = conv.weights.data() + channel * length;
  int64_t magnitude = 0;
  for (int64_t k = 0; k < length; ++k) {
    magnitude += std::abs(int32_t{weights[k]});
  }
  const int64_t most_input = std::max(std::abs(int64_t{-128} - input_zero_point),
                                      std::abs(int64_t{127} - input_zero_point));
  return magnitude * most_input + std::abs(int64_t{conv.bias[static_cast<size_t>(channel)]});
}

absl::Status CheckAccumulatorBound(const ConvParams& conv, int32_t input_zero_point) {
  for (size_t m = 0; m < conv.bias.size(); ++m) {
    const int64_t bound = AccumulatorBound(conv, static_cast<int64_t>(m), input_zero_point);
    if (bound >= int64_t{1} << 31) {
      return absl::InvalidArgumentError(
          absl::StrCat("output channel ", m, ": the accumulator may reach ", bound,
                       ", more than an int32 holds; enlarge the weight scale of this channel"));
    }
  }
  return absl::OkStatus();
}

}  // namespace qb::integer
