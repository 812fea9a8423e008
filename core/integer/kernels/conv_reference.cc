// Convolution straight from the definition in docs/numerics.md.
#include "core/integer/kernels/conv.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

struct Place {
  int64_t oy, ox, m;
};

// The accumulator of one result.
int32_t Accumulate(const ConvParams& conv, const Window& w, const int8_t* image,
                   int32_t zero_point, const Place& place) {
  const auto [oy, ox, m] = place;
  const int64_t group_in = w.in_c / conv.groups;
  const int64_t first_channel = m / (w.out_c / conv.groups) * group_in;
  const int8_t* weights = conv.weights.data() + m * w.taps() * group_in;
  int32_t acc = conv.bias[static_cast<size_t>(m)];
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const int64_t y = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int64_t x = ox * w.stride_w - w.pad_left + kx * w.dilation_w;
      if (y < 0 || y >= w.in_h || x < 0 || x >= w.in_w) {
        continue;  // real zero
      }
      const int8_t* pixel = image + (y * w.in_w + x) * w.in_c + first_channel;
      const int8_t* tap = weights + (ky * w.kernel_w + kx) * group_in;
      for (int64_t c = 0; c < group_in; ++c) {
        acc += (pixel[c] - zero_point) * tap[c];
      }
    }
  }
  return acc;
}

}  // namespace

void RunConvReference(const KernelCall& call) {
  const ConvParams& conv = call.params<ConvParams>();
  const TensorInfo& in = call.input_tensor(0);
  const TensorInfo& out = call.output_tensor();
  const Window w = WindowOf(conv, in.shape, out.shape);
  int8_t* code = call.out<int8_t>();
  for (int64_t oy = 0; oy < w.out_h; ++oy) {
    for (int64_t ox = 0; ox < w.out_w; ++ox) {
      for (int64_t m = 0; m < w.out_c; ++m) {
        const int32_t acc =
            Accumulate(conv, w, call.input<int8_t>(0), in.zero_point, {oy, ox, m});
        *code++ = static_cast<int8_t>(ApplyRequant(acc, conv.requant[static_cast<size_t>(m)],
                                                   out.zero_point, conv.clamp_min, conv.clamp_max));
      }
    }
  }
}

}  // namespace qb::integer
