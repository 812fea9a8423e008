// Fixed-point rescaling: the only way that an integer result gets another scale.
//
// docs/numerics.md is the specification; every function here is exact in 64-bit integers and rounds
// once, half to even.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/integer/network.h"

namespace qb::integer {

// value / 2^shift rounded half to even. Precondition: 1 <= shift <= 62, |value| <= 2^62.
inline int64_t RoundShift(int64_t value, int32_t shift) {
  const int64_t half = int64_t{1} << (shift - 1);
  return (value + half - 1 + ((value >> shift) & 1)) >> shift;
}

inline int64_t Clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : (value > high ? high : value);
}

// clamp(zero_point + RNE(acc * mantissa / 2^shift), low, high).
inline int32_t ApplyRequant(int32_t acc, Requant requant, int32_t zero_point, int32_t low,
                            int32_t high) {
  const int64_t product = int64_t{acc} * requant.mantissa;
  return static_cast<int32_t>(Clamp(zero_point + RoundShift(product, requant.shift), low, high));
}

// The same for 64-bit accumulators: the product has up to 93 bits and is formed in 128.
// Precondition: |acc| < 2^62.
int32_t ApplyWideRequant(int64_t acc, Requant requant, int32_t zero_point, int32_t low,
                         int32_t high);

// numerator / denominator rounded half to even. Precondition: numerator >= 0, denominator > 0, and
// twice the denominator fits in int64.
int64_t DivideRoundHalfEven(int64_t numerator, int64_t denominator);

// The nearest Requant: the mantissa has 31 significant bits wherever shift <= 62 allows it (from
// 2^-32 up); smaller multipliers lose bits and finally become 0.
// Errors: InvalidArgument for NaN, a negative value, or one of 2^30 and above.
absl::StatusOr<Requant> RequantFromMultiplier(double multiplier);

// mantissa / 2^shift.
double MultiplierOf(Requant requant);

// The two multipliers and the common shift of an addition.
struct AddScaling {
  int64_t multiplier_a = 0, multiplier_b = 0;
  int32_t shift = 1;
};
// For ratios s_a / s_y and s_b / s_y > 0. The shift is the largest that keeps both multipliers below
// 2^32, so that the larger one has 32 significant bits (a shift of 16 would differ from exact
// arithmetic in one of some hundred results).
// Errors: InvalidArgument for NaN, a ratio <= 0 or of 2^30 and above.
absl::StatusOr<AddScaling> AddScalingFromRatios(double ratio_a, double ratio_b);

// The proof that no accumulator of the layer can leave int32: for each output channel,
// sum |w| * max |x - zero point| + |bias| < 2^31 for every possible int8 input.
// Errors: InvalidArgument naming the channel and its bound.
absl::Status CheckAccumulatorBound(const ConvParams& conv, int32_t input_zero_point);
// The same for any type of input and weights. Sums of layers that are IsWide must stay below 2^62.
absl::Status CheckAccumulatorBound(const ConvParams& conv, const TensorInfo& input);
// The left side of that inequality for one channel. Precondition: the weights are M equal slices.
int64_t AccumulatorBound(const ConvParams& conv, int64_t channel, int32_t input_zero_point);
int64_t AccumulatorBound(const ConvParams& conv, int64_t channel, const TensorInfo& input);

// The codes that a tensor of this type may hold: [-128, 127] or [-32767, 32767].
inline int32_t LeastCode(DType dtype) { return dtype == DType::kInt16 ? -32767 : -128; }
inline int32_t MostCode(DType dtype) { return dtype == DType::kInt16 ? 32767 : 127; }

}  // namespace qb::integer
