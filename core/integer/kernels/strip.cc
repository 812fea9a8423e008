#include <algorithm>

#include "core/integer/kernels/conv.h"

namespace qb::integer {
namespace {

template <typename T>
T RealZero(int32_t zero_point);
template <>
uint8_t RealZero<uint8_t>(int32_t zero_point) {
  return static_cast<uint8_t>(zero_point + 128);
}
template <>
int16_t RealZero<int16_t>(int32_t) {
  return 0;
}

void Convert(const int8_t* from, int64_t count, int32_t, uint8_t* to) {
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<uint8_t>(from[i]) ^ 0x80;
  }
}

void Convert(const int8_t* from, int64_t count, int32_t zero_point, int16_t* to) {
  const int16_t zero = static_cast<int16_t>(zero_point);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<int16_t>(from[i] - zero);
  }
}

// int16 codes have zero point 0.
void Convert(const int16_t* from, int64_t count, int32_t, int16_t* to) {
  std::copy(from, from + count, to);
}

template <typename T>
void FillPixels(T* to, int64_t pixels, int64_t pixel_stride, int64_t channels, T value) {
  for (int64_t i = 0; i < pixels; ++i) {
    T* pixel = to + i * pixel_stride;
    std::fill(pixel, pixel + channels, value);
    std::fill(pixel + channels, pixel + pixel_stride, T{0});
  }
}

}  // namespace

template <typename T, typename Code>
void FillStrip(const Window& w, const Code* image, int32_t zero_point, const StripRows& rows,
               T* strip) {
  const T zero = RealZero<T>(zero_point);
  const int64_t pixel_stride = rows.pixel_stride;
  for (int64_t row = rows.first; row < rows.first + rows.rows; ++row) {
    T* to = strip + (row - rows.first) * w.padded_w() * pixel_stride;
    const int64_t y = row - w.pad_top;
    if (y < 0 || y >= w.in_h) {
      FillPixels(to, w.padded_w(), pixel_stride, w.in_c, zero);
      continue;
    }
    FillPixels(to, w.pad_left, pixel_stride, w.in_c, zero);
    to += w.pad_left * pixel_stride;
    const Code* from = image + y * w.in_w * w.in_c;
    if (pixel_stride == w.in_c) {
      Convert(from, w.in_w * w.in_c, zero_point, to);
    } else {
      for (int64_t x = 0; x < w.in_w; ++x) {
        Convert(from + x * w.in_c, w.in_c, zero_point, to + x * pixel_stride);
        std::fill(to + x * pixel_stride + w.in_c, to + (x + 1) * pixel_stride, T{0});
      }
    }
    FillPixels(to + w.in_w * pixel_stride, w.pad_right, pixel_stride, w.in_c, zero);
  }
}

template void FillStrip(const Window&, const int8_t*, int32_t, const StripRows&, uint8_t*);
template void FillStrip(const Window&, const int8_t*, int32_t, const StripRows&, int16_t*);
template void FillStrip(const Window&, const int16_t*, int32_t, const StripRows&, int16_t*);

}  // namespace qb::integer
