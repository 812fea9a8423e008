// Tables that a network stores and that no runtime computes again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/integer/network.h"

namespace qb::integer {

// table[code + 128] = the code of function(real value of code), computed in double precision, rounded
// half to even, saturated; NaN gives the zero point.
std::vector<int8_t> LookupTable(const std::function<double(double)>& function, const TensorInfo& x,
                                const TensorInfo& y);

// Knots of the table of an int16 input, and the codes between two of them.
inline constexpr size_t kLookupKnots = 513;
inline constexpr int32_t kKnotBits = 7;
inline constexpr int32_t kMostKnot = 1 << 14;

// What a table of knots yields for an int16 code before it is rescaled: kMostKnot * 128 at most.
inline int32_t LookBetweenKnots(const std::vector<int16_t>& knots, int32_t code) {
  const int32_t from_least = code + 32768;
  const size_t knot = static_cast<size_t>(from_least >> kKnotBits);
  const int32_t fraction = from_least & ((1 << kKnotBits) - 1);
  return knots[knot] * ((1 << kKnotBits) - fraction) + knots[knot + 1] * fraction;
}

// Knots and rescaling of function(real value of an int16 code), computed in double precision. The
// knots reach as far as the codes of `y`, and as far again beyond them; NaN counts as 0. One
// rescaling, or one for each of y.channel_factors.
LutParams KnotTable(const std::function<double(double)>& function, const TensorInfo& x,
                    const TensorInfo& y);

// What exp(0) is in the tables of softmax. 24 bits: shares that a float softmax would round the other
// way are fewer than one in 10^4.
inline constexpr int32_t kSoftmaxOne = 1 << 24;

// table[d] = RNE(2^24 * exp(-d * step)), d in 0..255; step = input scale * beta > 0.
std::vector<int32_t> SoftmaxExpTable(double step);

// The same for int16 codes, whose d has 16 bits: table[h] = RNE(2^24 * exp(-256 h * step)) of the high
// byte, table[256 + l] = RNE(2^24 * exp(-l * step)) of the low one.
std::vector<int32_t> WideSoftmaxExpTable(double step);

// The codes of an int8 rescaling: table[code + 128] = clamp(zp_y + RNE((code - zp_x) * requant)).
std::vector<int8_t> RescaleTable(Requant requant, int32_t zero_point_x, int32_t zero_point_y);

}  // namespace qb::integer
