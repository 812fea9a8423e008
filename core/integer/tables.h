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
