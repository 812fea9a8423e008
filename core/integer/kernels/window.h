// The geometry of convolution and pooling windows over NHWC images.
#pragma once

#include <cstdint>

#include "core/integer/network.h"

namespace qb::integer {

// Sizes in elements; one image. A 1x1 convolution of another rank than 4 is one row of pixels.
struct Window {
  int64_t in_h = 1, in_w = 1, in_c = 1;
  int64_t out_h = 1, out_w = 1, out_c = 1;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;

  int64_t padded_h() const { return in_h + pad_top + pad_bottom; }
  int64_t padded_w() const { return in_w + pad_left + pad_right; }
  int64_t extent_h() const { return dilation_h * (kernel_h - 1) + 1; }
  int64_t extent_w() const { return dilation_w * (kernel_w - 1) + 1; }
  int64_t taps() const { return kernel_h * kernel_w; }
};

// Copies kernel, strides, dilations and paddings of ConvParams or PoolParams.
template <typename Params>
Window WindowOf(const Params& params, const Shape& input, const Shape& output) {
  Window w;
  w.kernel_h = params.kernel_h;
  w.kernel_w = params.kernel_w;
  w.stride_h = params.stride_h;
  w.stride_w = params.stride_w;
  w.dilation_h = params.dilation_h;
  w.dilation_w = params.dilation_w;
  w.pad_top = params.pad_top;
  w.pad_bottom = params.pad_bottom;
  w.pad_left = params.pad_left;
  w.pad_right = params.pad_right;
  if (input.rank() == 4 && output.rank() == 4 && input[0] == 1) {
    w.in_h = input[1];
    w.in_w = input[2];
    w.in_c = input[3];
    w.out_h = output[1];
    w.out_w = output[2];
    w.out_c = output[3];
    return w;
  }
  w.in_c = input.rank() == 0 ? 1 : input[input.rank() - 1];
  w.out_c = output.rank() == 0 ? 1 : output[output.rank() - 1];
  w.in_w = input.elements() / w.in_c;
  w.out_w = output.elements() / w.out_c;
  return w;
}

}  // namespace qb::integer
