// Max and average pooling.
#include <algorithm>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/window.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

// The taps of one axis that meet the image, and how many count with padding.
struct Taps {
  int64_t first = 0, end = 0;  // tap numbers
  int64_t start = 0;           // image coordinate of tap `first`
  int64_t counted = 0;         // taps inside image and declared padding
};

Taps TapsOf(int64_t origin, int64_t kernel, int64_t dilation, int64_t extent, int64_t pad_end) {
  Taps taps;
  taps.first = origin >= 0 ? 0 : std::min(kernel, (-origin + dilation - 1) / dilation);
  const int64_t inside = origin >= extent ? 0 : (extent - 1 - origin) / dilation + 1;
  taps.end = std::max(taps.first, std::min(kernel, inside));
  taps.start = origin + taps.first * dilation;
  const int64_t padded = (extent + pad_end - 1 - origin) / dilation + 1;
  taps.counted = std::min(kernel, padded);
  return taps;
}

struct Place {
  Taps y, x;
};

void MaxAt(const KernelCall& call, const Window& w, const Place& place, int8_t* out) {
  const PoolParams& p = call.params<PoolParams>();
  // An empty window (possible with dilation only) gives the lowest code.
  std::fill(out, out + w.in_c, int8_t{-128});
  for (int64_t ky = 0; ky < place.y.end - place.y.first; ++ky) {
    const int64_t y = place.y.start + ky * w.dilation_h;
    for (int64_t kx = 0; kx < place.x.end - place.x.first; ++kx) {
      const int64_t x = place.x.start + kx * w.dilation_w;
      const int8_t* pixel = call.input<int8_t>(0) + (y * w.in_w + x) * w.in_c;
      for (int64_t c = 0; c < w.in_c; ++c) {
        out[c] = out[c] < pixel[c] ? pixel[c] : out[c];
      }
    }
  }
  if (p.clamp_min > -128 || p.clamp_max < 127) {
    for (int64_t c = 0; c < w.in_c; ++c) {
      out[c] = static_cast<int8_t>(Clamp(out[c], p.clamp_min, p.clamp_max));
    }
  }
}

void AverageAt(const KernelCall& call, const Window& w, const Place& place, int32_t* sums,
               int8_t* out) {
  const PoolParams& p = call.params<PoolParams>();
  const int64_t rows = place.y.end - place.y.first;
  const int64_t columns = place.x.end - place.x.first;
  const int64_t count = p.count_include_pad ? place.y.counted * place.x.counted : rows * columns;
  const int32_t zero_x = call.input_tensor(0).zero_point;
  std::fill(sums, sums + w.in_c, static_cast<int32_t>(-zero_x * rows * columns));
  for (int64_t ky = 0; ky < rows; ++ky) {
    const int64_t y = place.y.start + ky * w.dilation_h;
    for (int64_t kx = 0; kx < columns; ++kx) {
      const int64_t x = place.x.start + kx * w.dilation_w;
      const int8_t* pixel = call.input<int8_t>(0) + (y * w.in_w + x) * w.in_c;
      for (int64_t c = 0; c < w.in_c; ++c) {
        sums[c] += pixel[c];
      }
    }
  }
  const Requant requant = p.requant_by_count[static_cast<size_t>(count)];
  for (int64_t c = 0; c < w.in_c; ++c) {
    out[c] = static_cast<int8_t>(ApplyRequant(sums[c], requant, call.output_tensor().zero_point,
                                              p.clamp_min, p.clamp_max));
  }
}

// One result straight from the definition.
int8_t PlainAt(const KernelCall& call, const Window& w, int64_t oy, int64_t ox, int64_t c) {
  const PoolParams& p = call.params<PoolParams>();
  const int32_t zero_x = call.input_tensor(0).zero_point;
  int32_t largest = -128;
  int32_t sum = 0;
  int64_t valid = 0;
  int64_t with_padding = 0;
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int64_t y = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
      const int64_t x = ox * w.stride_w - w.pad_left + kx * w.dilation_w;
      with_padding += y < w.in_h + w.pad_bottom && x < w.in_w + w.pad_right ? 1 : 0;
      if (y >= 0 && y < w.in_h && x >= 0 && x < w.in_w) {
        const int8_t code = call.input<int8_t>(0)[(y * w.in_w + x) * w.in_c + c];
        largest = std::max<int32_t>(largest, code);
        sum += code - zero_x;
        ++valid;
      }
    }
  }
  if (p.is_max) {
    return static_cast<int8_t>(Clamp(largest, p.clamp_min, p.clamp_max));
  }
  const int64_t count = p.count_include_pad ? with_padding : valid;
  return static_cast<int8_t>(ApplyRequant(sum, p.requant_by_count[static_cast<size_t>(count)],
                                          call.output_tensor().zero_point, p.clamp_min,
                                          p.clamp_max));
}

void Plain(const KernelCall& call, const Window& w) {
  int8_t* out = call.out<int8_t>();
  for (int64_t oy = 0; oy < w.out_h; ++oy) {
    for (int64_t ox = 0; ox < w.out_w; ++ox) {
      for (int64_t c = 0; c < w.in_c; ++c) {
        *out++ = PlainAt(call, w, oy, ox, c);
      }
    }
  }
}

}  // namespace

void RunPool(const KernelCall& call) {
  const PoolParams& p = call.params<PoolParams>();
  const Window w = WindowOf(p, call.input_tensor(0).shape, call.output_tensor().shape);
  if (call.reference()) {
    Plain(call, w);
    return;
  }
  int32_t* sums = call.scratch.ReserveArray<int32_t>(0, w.in_c);
  int8_t* out = call.out<int8_t>();
  for (int64_t oy = 0; oy < w.out_h; ++oy) {
    const Taps y =
        TapsOf(oy * w.stride_h - w.pad_top, w.kernel_h, w.dilation_h, w.in_h, w.pad_bottom);
    for (int64_t ox = 0; ox < w.out_w; ++ox, out += w.in_c) {
      const Taps x =
          TapsOf(ox * w.stride_w - w.pad_left, w.kernel_w, w.dilation_w, w.in_w, w.pad_right);
      if (p.is_max) {
        MaxAt(call, w, {y, x}, out);
      } else {
        AverageAt(call, w, {y, x}, sums, out);
      }
    }
  }
}

}  // namespace qb::integer
