// e^x in float32 arithmetic that a compiler vectorizes and that gives the same bits on every CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace qb::execute {

// Relative error below 2e-7 for x in [-87.3, 88]; clamped outside (result near 0, or large).
// x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial of degree 7 (next term 2^-27).
inline float Exponential(float x) {
  const float low = -87.3f;
  const float high = 88.0f;
  float bounded = x < low ? low : x;
  bounded = high < bounded ? high : bounded;
  // Adding and subtracting 1.5 * 2^23 rounds to the nearest integer.
  const float shifter = 12582912.0f;
  const float shifted = bounded * 1.44269504f + shifter;
  const float k = shifted - shifter;
  // ln 2 in two parts: the first has few bits, so k * part is exact.
  float r = bounded - k * 0.693359375f;
  r -= k * -2.12194440e-4f;
  float p = 1.0f / 5040.0f;
  p = p * r + 1.0f / 720.0f;
  p = p * r + 1.0f / 120.0f;
  p = p * r + 1.0f / 24.0f;
  p = p * r + 1.0f / 6.0f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t exponent = static_cast<int32_t>(k);
  return p * std::bit_cast<float>((exponent + 127) << 23);
}

}  // namespace qb::execute
