// Clamping of results, and conversions between number types that are defined for every value.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "core/ops/activation.h"

namespace qb::execute {

// NaN stays NaN. Written so that a compiler maps it to one minimum and one maximum instruction.
template <typename T>
struct Clamp {
  T low = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                               : std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::max();
  T operator()(T x) const {
    const T raised = x < low ? low : x;
    return high < raised ? high : raised;
  }
};

// A float or double as T: truncated towards zero, saturated at T's range, NaN becomes 0.
template <typename T>
T ClampCast(double x) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(x);
  } else {
    if (std::isnan(x)) {
      return T{0};
    }
    // The upper bound as a double may round up to one past the range, hence >=.
    if (x >= static_cast<double>(std::numeric_limits<T>::max())) {
      return std::numeric_limits<T>::max();
    }
    if (x <= static_cast<double>(std::numeric_limits<T>::lowest())) {
      return std::numeric_limits<T>::lowest();
    }
    return static_cast<T>(x);
  }
}

template <typename T>
Clamp<T> ClampOf(const Activation& activation) {
  Clamp<T> clamp;
  if (activation.kind == ActivationKind::kRelu) {
    clamp.low = T{0};
  } else if (activation.kind == ActivationKind::kClip) {
    clamp.low = ClampCast<T>(static_cast<double>(activation.min));
    clamp.high = ClampCast<T>(static_cast<double>(activation.max));
  }
  return clamp;
}

}  // namespace qb::execute
