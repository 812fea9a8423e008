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
constexpr int64_t kMostWideSum = int64_t{1} << 62;

// Where 64-bit sums meet 31-bit mantissas.
__extension__ using Wide = __int128;

Wide Magnitude(int64_t value) { return value < 0 ? -Wide{value} : Wide{value}; }

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

int32_t ApplyWideRequant(int64_t acc, Requant requant, int32_t zero_point, int32_t low,
                         int32_t high) {
  const Wide product = Wide{acc} * requant.mantissa;
  const Wide half = Wide{1} << (requant.shift - 1);
  const Wide odd = (product >> requant.shift) & 1;
  const Wide rounded = ((product + half - 1 + odd) >> requant.shift) + zero_point;
  return rounded < low ? low : (rounded > high ? high : static_cast<int32_t>(rounded));
}

int64_t AccumulatorBound(const ConvParams& conv, int64_t channel, const TensorInfo& input) {
  const int64_t length = conv.weight_count() / static_cast<int64_t>(conv.requant.size());
  int64_t magnitude = 0;
  for (int64_t k = channel * length; k < (channel + 1) * length; ++k) {
    magnitude += std::abs(conv.weight(k));
  }
  const int64_t most_input =
      std::max(std::abs(int64_t{LeastCode(input.dtype)} - input.zero_point),
               std::abs(int64_t{MostCode(input.dtype)} - input.zero_point));
  const Wide bound = Wide{magnitude} * most_input + Magnitude(conv.bias_of(channel));
  return bound > kMostWideSum ? kMostWideSum : static_cast<int64_t>(bound);
}

int64_t AccumulatorBound(const ConvParams& conv, int64_t channel, int32_t input_zero_point) {
  TensorInfo input;
  input.zero_point = input_zero_point;
  return AccumulatorBound(conv, channel, input);
}

absl::Status CheckAccumulatorBound(const ConvParams& conv, const TensorInfo& input) {
  const bool wide = IsWide(conv, input);
  const int64_t limit = wide ? kMostWideSum : int64_t{1} << 31;
  for (size_t m = 0; m < conv.requant.size(); ++m) {
    const int64_t bound = AccumulatorBound(conv, static_cast<int64_t>(m), input);
    if (bound >= limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("output channel ", m, ": the accumulator may reach ", bound,
                       wide ? ", more than 2^62; " : ", more than an int32 holds; ",
                       "enlarge the weight scale of this channel"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAccumulatorBound(const ConvParams& conv, int32_t input_zero_point) {
  TensorInfo input;
  input.zero_point = input_zero_point;
  return CheckAccumulatorBound(conv, input);
}

}  // namespace qb::integer
