// Convolution and pooling by their definition, one result element at a time, in double.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/ir/tensor.h"
#include "core/ops/convolution.h"
#include "core/ops/pooling.h"

namespace qb::testing {

// Offsets in an image tensor of either layout.
struct ImageView {
  Shape shape;
  bool channel_last;

  int64_t channels() const { return channel_last ? shape[3] : shape[1]; }
  int64_t rows() const { return channel_last ? shape[1] : shape[2]; }
  int64_t columns() const { return channel_last ? shape[2] : shape[3]; }
  size_t at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    const int64_t offset = channel_last ? ((n * rows() + h) * columns() + w) * channels() + c
                                        : ((n * channels() + c) * rows() + h) * columns() + w;
    return static_cast<size_t>(offset);
  }
};

// The elements of a float image tensor by place.
struct ImageValues {
  ImageView view;
  const Tensor& tensor;

  double at(int64_t n, int64_t c, int64_t h, int64_t w) const {
    return static_cast<double>(tensor.values<float>()[view.at(n, c, h, w)]);
  }
};

inline double Clamped(const Activation& activation, double x) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return x;
    case ActivationKind::kRelu:
      return std::max(x, 0.0);
    case ActivationKind::kClip:
      return std::min(std::max(x, static_cast<double>(activation.min)),
                      static_cast<double>(activation.max));
  }
  return x;
}

// One element of the result, before bias and activation.
inline double NaiveSum(const ConvolutionAttrs& a, const ImageValues& x, const ImageValues& filter,
                       const std::array<int64_t, 4>& at) {
  const ImageView& in = x.view;
  const auto [n, m, oh, ow] = at;
  const int64_t depth = in.channels() / a.group_number;
  const int64_t filters_per_group = filter.view.shape[0] / a.group_number;
  const int64_t first_channel = m / filters_per_group * depth;
  double sum = 0.0;
  for (int64_t kh = 0; kh < a.h_kernel; ++kh) {
    for (int64_t kw = 0; kw < a.w_kernel; ++kw) {
      const int64_t h = oh * a.h_stride - a.north_padding + kh * a.h_dilation;
      const int64_t v = ow * a.w_stride - a.west_padding + kw * a.w_dilation;
      if (h < 0 || h >= in.rows() || v < 0 || v >= in.columns()) {
        continue;
      }
      for (int64_t c = 0; c < depth; ++c) {
        sum += x.at(n, first_channel + c, h, v) * filter.at(m, c, kh, kw);
      }
    }
  }
  return sum;
}

// `bias` may be null.
inline std::vector<float> NaiveConvolution(const ConvolutionAttrs& a, const Shape& result,
                                           const Tensor& x, const Tensor& w, const Tensor* bias) {
  const ImageValues in{{x.shape(), a.channel_last}, x};
  const ImageView out{result, a.channel_last};
  const ImageValues filter{{w.shape(), a.channel_last}, w};
  std::vector<float> y(static_cast<size_t>(result.elements()));
  for (int64_t n = 0; n < result[0]; ++n) {
    for (int64_t m = 0; m < out.channels(); ++m) {
      for (int64_t oh = 0; oh < out.rows(); ++oh) {
        for (int64_t ow = 0; ow < out.columns(); ++ow) {
          double sum = NaiveSum(a, in, filter, {n, m, oh, ow});
          if (bias != nullptr) {
            sum += static_cast<double>(bias->values<float>()[static_cast<size_t>(m)]);
          }
          y[out.at(n, m, oh, ow)] = static_cast<float>(Clamped(a.activation, sum));
        }
      }
    }
  }
  return y;
}

// One element: the maximum of the window, or its average over the cells that count.
inline double NaivePool(const PoolingAttrs& a, const ImageView& in, const Tensor& x,
                        const std::array<int64_t, 4>& at) {
  const auto [n, c, oh, ow] = at;
  double largest = -std::numeric_limits<double>::infinity();
  double sum = 0.0;
  int64_t inside = 0;
  int64_t with_padding = 0;
  for (int64_t kh = 0; kh < a.h_kernel; ++kh) {
    for (int64_t kw = 0; kw < a.w_kernel; ++kw) {
      const int64_t h = oh * a.h_stride - a.north_padding + kh * a.h_dilation;
      const int64_t v = ow * a.w_stride - a.west_padding + kw * a.w_dilation;
      with_padding += h < in.rows() + a.south_padding && v < in.columns() + a.east_padding ? 1 : 0;
      if (h < 0 || h >= in.rows() || v < 0 || v >= in.columns()) {
        continue;
      }
      const double value = static_cast<double>(x.values<float>()[in.at(n, c, h, v)]);
      largest = std::max(largest, value);
      sum += value;
      ++inside;
    }
  }
  if (a.pool_type == PoolType::kMax) {
    return largest;
  }
  return sum / static_cast<double>(a.is_include_pad ? with_padding : inside);
}

inline std::vector<float> NaivePooling(const PoolingAttrs& a, const Shape& result,
                                       const Tensor& x) {
  const ImageView in{x.shape(), a.channel_last};
  const ImageView out{result, a.channel_last};
  std::vector<float> y(static_cast<size_t>(result.elements()));
  for (int64_t n = 0; n < result[0]; ++n) {
    for (int64_t c = 0; c < out.channels(); ++c) {
      for (int64_t oh = 0; oh < out.rows(); ++oh) {
        for (int64_t ow = 0; ow < out.columns(); ++ow) {
          y[out.at(n, c, oh, ow)] = static_cast<float>(NaivePool(a, in, x, {n, c, oh, ow}));
        }
      }
    }
  }
  return y;
}

}  // namespace qb::testing
