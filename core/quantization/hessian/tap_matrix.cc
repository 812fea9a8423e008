#include "core/quantization/hessian/tap_matrix.h"

namespace qb {

TapMatrix UnfoldTaps(const WindowGeometry& geometry, const std::vector<int16_t>& input,
                     const TapRange& range) {
  const int64_t own = geometry.channels / range.groups;
  const int64_t first_channel = range.group * own;
  TapMatrix matrix;
  matrix.taps = geometry.kernel_h * geometry.kernel_w * own;
  matrix.positions = range.count;
  matrix.stride = (range.count + 1) / 2 * 2;
  matrix.values.assign(static_cast<size_t>(matrix.taps * matrix.stride), 0);
  for (int64_t i = 0; i < range.count; ++i) {
    const int64_t position = range.first + i;
    const int64_t top = position / geometry.out_columns * geometry.stride_h - geometry.pad_top;
    const int64_t left = position % geometry.out_columns * geometry.stride_w - geometry.pad_left;
    for (int64_t ky = 0; ky < geometry.kernel_h; ++ky) {
      const int64_t y = top + ky * geometry.dilation_h;
      if (y < 0 || y >= geometry.rows) {
        continue;
      }
      for (int64_t kx = 0; kx < geometry.kernel_w; ++kx) {
        const int64_t x = left + kx * geometry.dilation_w;
        if (x < 0 || x >= geometry.columns) {
          continue;
        }
        const int16_t* from =
            input.data() + (y * geometry.columns + x) * geometry.channels + first_channel;
        int16_t* to =
            matrix.values.data() + (ky * geometry.kernel_w + kx) * own * matrix.stride + i;
        for (int64_t c = 0; c < own; ++c) {
          to[c * matrix.stride] = from[c];
        }
      }
    }
  }
  return matrix;
}

}  // namespace qb
