// What the taps of a linear layer meet: its input unfolded, one row a tap.
#pragma once

#include <cstdint>
#include <vector>

#include "core/calibration/window_sums.h"

namespace qb {

// Values [taps][stride] of a run of output positions, zero where a tap meets padding and beyond the
// last position: `stride` is `positions` made even.
struct TapMatrix {
  int64_t taps = 0, positions = 0, stride = 0;
  std::vector<int16_t> values;

  const int16_t* row(int64_t tap) const { return values.data() + tap * stride; }
};

// A run of output positions of one group of a convolution (0 for one that is not grouped).
struct TapRange {
  int64_t first = 0, count = 0;
  int64_t group = 0, groups = 1;
};

// `input`: [rows, columns, channels] of integers in the order of memory. Rows of the result follow
// the layer's weights: (ky * kernel_w + kx) * channels of the group + c.
TapMatrix UnfoldTaps(const WindowGeometry& geometry, const std::vector<int16_t>& input,
                     const TapRange& range);

}  // namespace qb
