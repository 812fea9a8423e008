// Convolution and its transpose straight from the definition in docs/numerics.md.
#include <type_traits>

#include "core/integer/kernels/conv.h"
#include "core/integer/kernels/conv_transpose.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

struct Place {
  int64_t oy, ox, m;
};

template <typename Code>
struct Image {
  const Code* codes;
  int32_t zero_point;
};

// The products of one input pixel and one tap, for result channel in.m.
template <typename Code>
int64_t TapSum(const ConvParams& conv, const Window& w, const Image<Code>& image, const Place& in,
               int64_t tap) {
  const auto [y, x, m] = in;
  const int64_t group_in = w.in_c / conv.groups;
  const Code* pixel =
      image.codes + (y * w.in_w + x) * w.in_c + m / (w.out_c / conv.groups) * group_in;
  int64_t sum = 0;
  for (int64_t c = 0; c < group_in; ++c) {
    sum += int64_t{pixel[c] - image.zero_point} * conv.weight((m * w.taps() + tap) * group_in + c);
  }
  return sum;
}

// The accumulator of one result.
template <typename Code>
int64_t Accumulate(const ConvParams& conv, const Window& w, const Image<Code>& image,
                   const Place& place) {
  const auto [oy, ox, m] = place;
  int64_t acc = conv.bias_of(m);
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const int64_t y = oy * w.stride_h - w.pad_top + ky * w.dilation_h;
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int64_t x = ox * w.stride_w - w.pad_left + kx * w.dilation_w;
      if (y < 0 || y >= w.in_h || x < 0 || x >= w.in_w) {
        continue;  // real zero
      }
      acc += TapSum(conv, w, image, {y, x, m}, ky * w.kernel_w + kx);
    }
  }
  return acc;
}

// The same of a transposed convolution: input pixels whose tap meets this place.
template <typename Code>
int64_t AccumulateTransposed(const ConvParams& conv, const Window& w, const Image<Code>& image,
                             const Place& place) {
  const auto [oy, ox, m] = place;
  int64_t acc = conv.bias_of(m);
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    const int64_t y = oy + w.pad_top - ky * w.dilation_h;
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      const int64_t x = ox + w.pad_left - kx * w.dilation_w;
      if (y < 0 || y % w.stride_h != 0 || y / w.stride_h >= w.in_h || x < 0 ||
          x % w.stride_w != 0 || x / w.stride_w >= w.in_w) {
        continue;
      }
      acc += TapSum(conv, w, image, {y / w.stride_h, x / w.stride_w, m},
                    ky * w.kernel_w + kx);
    }
  }
  return acc;
}

// accumulate(place) for every result.
template <typename Accumulator>
void StoreAll(const KernelCall& call, const ConvParams& conv, const Window& w,
              Accumulator&& accumulate) {
  const TensorInfo& out = call.output_tensor();
  const RowRange range = call.OutputRows(w.out_h);
  int64_t at = range.begin * w.out_w * w.out_c;
  for (int64_t oy = range.begin; oy < range.end; ++oy) {
    for (int64_t ox = 0; ox < w.out_w; ++ox) {
      for (int64_t m = 0; m < w.out_c; ++m) {
        const int32_t code = ApplyWideRequant(accumulate(Place{oy, ox, m}),
                                              conv.requant[static_cast<size_t>(m)], out.zero_point,
                                              conv.clamp_min, conv.clamp_max);
        StoreCode(out.dtype, call.output, at++, code);
      }
    }
  }
}

}  // namespace

void RunConvReference(const KernelCall& call) {
  const ConvParams& conv = call.params<ConvParams>();
  const TensorInfo& in = call.input_tensor(0);
  const Window w = WindowOf(conv, in.shape, call.output_tensor().shape);
  WithCodes(call, 0, [&](const auto* codes) {
    const Image<std::remove_const_t<std::remove_pointer_t<decltype(codes)>>> image{codes,
                                                                                  in.zero_point};
    StoreAll(call, conv, w, [&](const Place& place) {
      return Accumulate(conv, w, image, place);
    });
  });
}

void RunConvTransposeReference(const KernelCall& call) {
  const ConvParams& conv = call.params<ConvTransposeParams>().conv;
  const TensorInfo& in = call.input_tensor(0);
  const Window w = WindowOf(conv, in.shape, call.output_tensor().shape);
  WithCodes(call, 0, [&](const auto* codes) {
    const Image<std::remove_const_t<std::remove_pointer_t<decltype(codes)>>> image{codes,
                                                                                  in.zero_point};
    StoreAll(call, conv, w, [&](const Place& place) {
      return AccumulateTransposed(conv, w, image, place);
    });
  });
}

}  // namespace qb::integer
