// Per-tap sums of a convolution's input.
//
// A convolution is linear, so the mean of its result over all output positions follows from the
// means of what each tap meets: mean(y[m]) = bias[m] + sum over taps of w[m, tap] * mean(x under
// tap). These means cost one pass over the input instead of a convolution, and they are exact at
// the borders.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace qb {

// Geometry of a channels-last convolution input [rows, columns, channels].
struct WindowGeometry {
  int64_t rows = 1, columns = 1, channels = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t out_rows = 1, out_columns = 1;

  int64_t taps() const { return kernel_h * kernel_w * channels; }
  int64_t positions() const { return out_rows * out_columns; }
};

// sums[(ky * kernel_w + kx) * channels + c] = sum over output positions of the input that tap (ky,
// kx) meets in channel c, padding as zero. Rows are summed in float, over at most 256 elements at a
// time, and joined in double, always in the same order.
std::vector<double> WindowSums(const WindowGeometry& geometry, absl::Span<const float> input);

// Sums of doubles that do not depend on the order of addition: fixed point, 2^-64 steps, each
// addend held to +-2^50. One thread at a time.
class OrderFreeSums {
 public:
  explicit OrderFreeSums(int64_t size) : sums_(static_cast<size_t>(size), 0) {}
  void Add(absl::Span<const double> values);
  std::vector<double> Result() const;

 private:
  std::vector<__int128> sums_;
};

}  // namespace qb
