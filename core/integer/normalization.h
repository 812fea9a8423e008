// Layer and RMS normalization: the numbers that a layer stores for real ones, and back.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "core/integer/network.h"

namespace qb::integer {

// The longest run of values that is normalized as one: sums of squares stay in 64 bits.
inline constexpr int64_t kMostNormalized = 32768;
// Bits behind the point of the variance, and the largest shift of the stored epsilon.
inline constexpr int32_t kVarianceBits = 32;
inline constexpr int32_t kMostEpsilonShift = 95;
// Bits behind the point of factors and offsets at most, and the magnitude that offsets stay below.
inline constexpr int32_t kMostNormalizationShift = 40;
inline constexpr int64_t kMostOffset = int64_t{1} << 47;

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, or x / sqrt(mean square + epsilon) *
// scale
// + bias when not `centered`. One entry of scale and bias for each value of a run.
struct RealNormalization {
  bool centered = true;
  double epsilon = 0.0;  // >= 0
  std::vector<double> scale, bias;
};

// Precondition: scale and bias are finite and equally many, at least one. Numbers beyond what the
// layer can store saturate, as the codes that they lead to do.
NormalizationParams NormalizationFromReal(const RealNormalization& real, const TensorInfo& x,
                                          const TensorInfo& y);
RealNormalization RealOfNormalization(const NormalizationParams& params, const TensorInfo& x,
                                      const TensorInfo& y);

// That no sum of the layer leaves its width, whatever the codes.
// Errors: InvalidArgument with what was found and what is accepted.
absl::Status CheckNormalization(const NormalizationParams& params, const Shape& shape);

// The first of the trailing axes that hold `length` elements together; -1 when none does.
int64_t NormalizedAxis(const Shape& shape, int64_t length);

}  // namespace qb::integer
