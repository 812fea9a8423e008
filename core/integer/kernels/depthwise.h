// The innermost loop of the depthwise form: one output pixel, 16 channels.
#pragma once

#include <cstdint>

namespace qb::integer {

inline constexpr int64_t kDepthwiseLanes = 16;

// raw[lane] = the sum over `pairs` pairs of taps. tap_offsets has two entries a pair, in elements from
// `pixel`. Weights of a pair: 32 int16, (first tap, second tap) of the lanes 0 1 2 3 8 9 10 11, then
// of 4 5 6 7 12 13 14 15 (the order in which 256-bit unpacking works).
using DepthwiseKernel = void (*)(const int16_t* pixel, const int64_t* tap_offsets, int64_t pairs,
                                 const int16_t* weights, int32_t* raw);
void DepthwiseAvx2(const int16_t* pixel, const int64_t* tap_offsets, int64_t pairs,
                   const int16_t* weights, int32_t* raw);
void DepthwisePortable(const int16_t* pixel, const int64_t* tap_offsets, int64_t pairs,
                       const int16_t* weights, int32_t* raw);

// Lane of slot `slot` (0..15) in the order above.
inline int64_t DepthwiseLane(int64_t slot) {
  const int64_t half = slot / 8;           // 0: lanes 0-3, 8-11; 1: 4-7, 12-15
  const int64_t within = slot % 8;
  return within / 4 * 8 + half * 4 + within % 4;
}

}  // namespace qb::integer
