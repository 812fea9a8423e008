// e^x and erf(x) in float32 arithmetic that a compiler vectorizes and that gives the same bits on
// every CPU.
#pragma once

#include <bit>
#include <cstdint>

namespace qb::execute {

// Relative error below 2e-7 for x in [-87.3, 88]. Below that range the result is 0 (subnormal
// numbers would slow down everything that uses them), above it that of 88. x = k ln 2 + r with |r|
// <= ln 2 / 2; e^r by its Taylor polynomial of degree 7 (next term 2^-27).
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
  // k as an integer from the low bits of the rounding sum, which is defined for NaN too (p is NaN then).
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(shifter);
  const float result = p * std::bit_cast<float>((exponent + 127u) << 23);
  return x < low ? 0.0f : result;
}

// Absolute error below 2e-7. Near zero the Taylor series 2/sqrt(pi) (x - x^3/3 + x^5/10 - ...) to
// x^11, which keeps the relative accuracy; elsewhere 1 - poly(1 / (1 + p |x|)) e^(-x^2). Source:
// Abramowitz, Stegun, Handbook of Mathematical Functions, 7.1.5 and 7.1.26.
inline float ErrorFunction(float x) {
  const float magnitude = x < 0.0f ? -x : x;
  const float square = x * x;
  float series = -1.0f / 1320.0f;
  series = series * square + 1.0f / 216.0f;
  series = series * square - 1.0f / 42.0f;
  series = series * square + 1.0f / 10.0f;
  series = series * square - 1.0f / 3.0f;
  series = (series * square + 1.0f) * x * 1.12837917f;

  const float t = 1.0f / (1.0f + 0.3275911f * magnitude);
  float p = 1.061405429f;
  p = p * t - 1.453152027f;
  p = p * t + 1.421413741f;
  p = p * t - 0.284496736f;
  p = p * t + 0.254829592f;
  const float tail = 1.0f - p * t * Exponential(-square);
  const float far = x < 0.0f ? -tail : tail;
  return magnitude < 0.5f ? series : far;
}

}  // namespace qb::execute
