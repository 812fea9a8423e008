// Transposed convolution by its definition, one input pixel and tap at a time, in double.
#pragma once

#include <vector>

#include "core/execute/testing/naive_window.h"
#include "core/ops/transpose_convolution.h"

namespace qb::testing {

struct ImageSums {
  ImageView view;
  std::vector<double> sums;
};

// Adds input channel `c` at (h, w) of image n, through all taps, to the sums of all results.
inline void SpreadPixel(const TransposeConvolutionAttrs& a, const ImageValues& x,
                        const ImageValues& filter, const std::array<int64_t, 4>& at,
                        ImageSums& result) {
  const auto [n, c, h, w] = at;
  const ImageView& out = result.view;
  const int64_t depth = x.view.channels() / a.group_number;
  const int64_t filters = out.channels() / a.group_number;
  const double value = x.at(n, c, h, w);
  for (int64_t f = 0; f < filters; ++f) {
    const int64_t m = c / depth * filters + f;
    for (int64_t kh = 0; kh < a.h_kernel; ++kh) {
      for (int64_t kw = 0; kw < a.w_kernel; ++kw) {
        const int64_t oh = h * a.h_stride + kh * a.h_dilation - a.north_padding;
        const int64_t ow = w * a.w_stride + kw * a.w_dilation - a.west_padding;
        if (oh >= 0 && oh < out.rows() && ow >= 0 && ow < out.columns()) {
          result.sums[out.at(n, m, oh, ow)] += value * filter.at(m, c % depth, kh, kw);
        }
      }
    }
  }
}

// `bias` may be null.
inline std::vector<float> NaiveTransposeConvolution(const TransposeConvolutionAttrs& a,
                                                    const Shape& result, const Tensor& x,
                                                    const Tensor& w, const Tensor* bias) {
  const ImageValues in{{x.shape(), a.channel_last}, x};
  const ImageValues filter{{w.shape(), a.channel_last}, w};
  ImageSums total{{result, a.channel_last},
                  std::vector<double>(static_cast<size_t>(result.elements()), 0.0)};
  const ImageView& out = total.view;
  for (int64_t n = 0; n < result[0]; ++n) {
    for (int64_t c = 0; c < in.view.channels(); ++c) {
      for (int64_t h = 0; h < in.view.rows(); ++h) {
        for (int64_t v = 0; v < in.view.columns(); ++v) {
          SpreadPixel(a, in, filter, {n, c, h, v}, total);
        }
      }
    }
  }
  std::vector<float> y(total.sums.size());
  for (int64_t n = 0; n < result[0]; ++n) {
    for (int64_t m = 0; m < out.channels(); ++m) {
      for (int64_t i = 0; i < out.rows() * out.columns(); ++i) {
        const size_t at = out.at(n, m, i / out.columns(), i % out.columns());
        const double shift = bias == nullptr ? 0.0 : bias->values<float>()[static_cast<size_t>(m)];
        y[at] = static_cast<float>(Clamped(a.activation, total.sums[at] + shift));
      }
    }
  }
  return y;
}

}  // namespace qb::testing
