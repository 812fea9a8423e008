// Reduction of contiguous rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace qb::execute {

template <typename T>
struct Sum {
  static constexpr T kStart = T{0};
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};
template <typename T>
struct Product {
  static constexpr T kStart = T{1};
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    } else {
      return a * b;
    }
  }
};
template <typename T>
struct Largest {
  static constexpr T kStart = std::numeric_limits<T>::has_infinity
                                  ? -std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::lowest();
  T operator()(T a, T b) const { return b > a || b != b ? b : a; }
};
template <typename T>
struct Smallest {
  static constexpr T kStart = std::numeric_limits<T>::has_infinity
                                  ? std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::max();
  T operator()(T a, T b) const { return b < a || b != b ? b : a; }
};

// Combines a contiguous row in kLanes interleaved parts: short dependency chains that vectorize,
// and a smaller rounding error than one running sum.
template <typename T, typename Op>
T CombineRow(const T* x, int64_t count, Op op) {
  constexpr int64_t kLanes = 16;
  T lanes[kLanes];
  std::fill(lanes, lanes + kLanes, Op::kStart);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t k = 0; k < kLanes; ++k) {
      lanes[k] = op(lanes[k], x[i + k]);
    }
  }
  for (int64_t k = 0; i < count; ++i, ++k) {
    lanes[k] = op(lanes[k], x[i]);
  }
  T total = lanes[0];
  for (int64_t k = 1; k < kLanes; ++k) {
    total = op(total, lanes[k]);
  }
  return total;
}

}  // namespace qb::execute
