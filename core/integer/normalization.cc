#include "core/integer/normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/check.h"
#include "core/integer/operand_checks.h"

namespace qb::integer {
namespace {

constexpr double kMostFactor = 2147483647.0;

double LargestMagnitude(const std::vector<double>& values) {
  double largest = 0.0;
  for (const double value : values) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

// The nearest integer, half to even (the default rounding mode), within +-most.
int64_t Stored(double value, double most) { return std::llrint(std::clamp(value, -most, most)); }

// epsilon in squared sums of codes: epsilon / s_x^2 * N^2, with kVarianceBits behind the point.
double EpsilonUnit(const TensorInfo& x, size_t length) {
  const double codes = static_cast<double>(length) / static_cast<double>(x.scale);
  return std::ldexp(codes * codes, kVarianceBits);
}

void StoreEpsilon(double epsilon, NormalizationParams& params) {
  int exponent = 0;
  const double limit = std::ldexp(kMostFactor, kMostEpsilonShift);
  std::frexp(std::min(epsilon, limit), &exponent);
  params.epsilon_shift = std::clamp(exponent - 31, 0, kMostEpsilonShift);
  params.epsilon = static_cast<int32_t>(
      Stored(std::ldexp(std::min(epsilon, limit), -params.epsilon_shift), kMostFactor));
}

}  // namespace

NormalizationParams NormalizationFromReal(const RealNormalization& real, const TensorInfo& x,
                                          const TensorInfo& y) {
  QB_CHECK(!real.scale.empty() && real.scale.size() == real.bias.size());
  NormalizationParams params;
  params.centered = real.centered;
  StoreEpsilon(real.epsilon * EpsilonUnit(x, real.scale.size()), params);
  const double step = static_cast<double>(y.scale);
  const double factor = LargestMagnitude(real.scale) / step;
  const double offset = LargestMagnitude(real.bias) / step;
  const double most_offset = static_cast<double>(kMostOffset - 1);
  params.shift = kMostNormalizationShift;
  while (params.shift > 0 && (std::ldexp(factor, params.shift) > kMostFactor ||
                              std::ldexp(offset, params.shift) > most_offset)) {
    --params.shift;
  }
  for (size_t i = 0; i < real.scale.size(); ++i) {
    params.scale.push_back(
        static_cast<int32_t>(Stored(std::ldexp(real.scale[i] / step, params.shift), kMostFactor)));
    params.bias.push_back(Stored(std::ldexp(real.bias[i] / step, params.shift), most_offset));
  }
  return params;
}

RealNormalization RealOfNormalization(const NormalizationParams& params, const TensorInfo& x,
                                      const TensorInfo& y) {
  RealNormalization real;
  real.centered = params.centered;
  real.epsilon = std::ldexp(static_cast<double>(params.epsilon), params.epsilon_shift) /
                 EpsilonUnit(x, params.scale.size());
  const double step = std::ldexp(static_cast<double>(y.scale), -params.shift);
  for (size_t i = 0; i < params.scale.size(); ++i) {
    real.scale.push_back(static_cast<double>(params.scale[i]) * step);
    real.bias.push_back(static_cast<double>(params.bias[i]) * step);
  }
  return real;
}

absl::Status CheckNormalization(const NormalizationParams& p, const Shape& shape) {
  const int64_t length = static_cast<int64_t>(p.scale.size());
  if (length < 1 || length > kMostNormalized || p.bias.size() != p.scale.size()) {
    return internal::Bad("there are ", length, " factors and ", p.bias.size(),
                         " offsets; accepted: as many, 1 to ", kMostNormalized);
  }
  if (NormalizedAxis(shape, length) < 0) {
    return internal::Bad("runs of ", length, " in an input of ", shape.ToString(),
                         "; accepted: the elements of the last axes");
  }
  if (p.epsilon < 0 || p.epsilon_shift < 0 || p.epsilon_shift > kMostEpsilonShift) {
    return internal::Bad("epsilon ", p.epsilon, " * 2^", p.epsilon_shift,
                         "; accepted: 0 or more, shift 0 to ", kMostEpsilonShift);
  }
  if (p.shift < 0 || p.shift > kMostNormalizationShift) {
    return internal::Bad("shift ", p.shift, "; accepted: 0 to ", kMostNormalizationShift);
  }
  for (const int64_t offset : p.bias) {
    if (offset <= -kMostOffset || offset >= kMostOffset) {
      return internal::Bad("offset ", offset, "; accepted: a magnitude below 2^47");
    }
  }
  return absl::OkStatus();
}

int64_t NormalizedAxis(const Shape& shape, int64_t length) {
  int64_t elements = 1;
  for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
    elements *= shape[axis];
    if (elements >= length) {
      return elements == length ? axis : -1;
    }
  }
  return -1;
}

}  // namespace qb::integer
