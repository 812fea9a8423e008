// Pillow's two-pass resampling: coefficients in double precision, 22-bit fixed point on uint8,
// rows first, an 8-bit image between the passes.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/preprocess/resize.h"

namespace qb {
namespace {

constexpr int kPrecisionBits = 22;

double Bilinear(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double Bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) {
    return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
  }
  return x < 2.0 ? (((x - 5) * x + 8) * x - 4) * kA : 0.0;
}

double Sinc(double x) {
  if (x == 0.0) {
    return 1.0;
  }
  x = x * std::numbers::pi;
  return std::sin(x) / x;
}

double Lanczos(double x) { return -3.0 <= x && x < 3.0 ? Sinc(x) * Sinc(x / 3) : 0.0; }

struct Filter {
  double (*weight)(double);
  double support;
};

Filter FilterOf(Interpolation mode) {
  switch (mode) {
    case Interpolation::kBilinear:
      return {Bilinear, 1.0};
    case Interpolation::kBicubic:
      return {Bicubic, 2.0};
    case Interpolation::kLanczos:
      return {Lanczos, 3.0};
    default:
      QB_CHECK_MSG(false, "Pillow has no such mode");
  }
}

// Which source pixels make an output pixel: first[i] and count[i] taps, weights[i * most + tap].
template <typename Weight>
struct Taps {
  int64_t most = 0;
  std::vector<int64_t> first, count;
  std::vector<Weight> weights;
};

Taps<double> ComputeTaps(int64_t in, int64_t out, const Filter& filter) {
  const double scale = static_cast<double>(static_cast<float>(in)) / static_cast<double>(out);
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter.support * filter_scale;
  const double inverse = 1.0 / filter_scale;
  Taps<double> taps;
  taps.most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  taps.weights.assign(static_cast<size_t>(out * taps.most), 0.0);
  for (int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const double low = center - support + 0.5;
    const double high = center + support + 0.5;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(low));
    const int64_t end = std::min(in, static_cast<int64_t>(high));
    double* weights = taps.weights.data() + i * taps.most;
    double sum = 0.0;
    for (int64_t x = 0; x < end - first; ++x) {
      weights[x] = filter.weight((static_cast<double>(x + first) - center + 0.5) * inverse);
      sum += weights[x];
    }
    for (int64_t x = 0; x < end - first && sum != 0.0; ++x) {
      weights[x] /= sum;
    }
    taps.first.push_back(first);
    taps.count.push_back(end - first);
  }
  return taps;
}

Taps<int32_t> FixedPoint(const Taps<double>& taps) {
  Taps<int32_t> fixed{taps.most, taps.first, taps.count, {}};
  fixed.weights.reserve(taps.weights.size());
  for (const double weight : taps.weights) {
    const double scaled = weight * (1 << kPrecisionBits);
    fixed.weights.push_back(static_cast<int32_t>(weight < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  return fixed;
}

// What a sum starts with and how it becomes a pixel.
struct ByteSum {
  using Weight = int32_t;
  using Sum = int32_t;
  static constexpr Sum kStart = 1 << (kPrecisionBits - 1);
  static uint8_t Pixel(Sum sum) {
    return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255));
  }
};
struct FloatSum {
  using Weight = double;
  using Sum = double;
  static constexpr Sum kStart = 0.0;
  static float Pixel(Sum sum) { return static_cast<float>(sum); }
};

template <typename Rule, typename T, int kChannels>
void RowPass(const T* in, int64_t channels, const Taps<typename Rule::Weight>& taps, T* out) {
  const int64_t c_count = kChannels > 0 ? kChannels : channels;
  for (size_t i = 0; i < taps.first.size(); ++i) {
    const typename Rule::Weight* weights =
        taps.weights.data() + static_cast<int64_t>(i) * taps.most;
    const T* source = in + taps.first[i] * c_count;
    for (int64_t c = 0; c < c_count; ++c) {
      typename Rule::Sum sum = Rule::kStart;
      for (int64_t x = 0; x < taps.count[i]; ++x) {
        sum += static_cast<typename Rule::Sum>(source[x * c_count + c]) * weights[x];
      }
      *out++ = Rule::Pixel(sum);
    }
  }
}

template <typename Rule, typename T>
Tensor Horizontal(const Tensor& image, int64_t width, const Taps<typename Rule::Weight>& taps) {
  const int64_t height = image.shape()[0], channels = image.shape()[2];
  Tensor result = Tensor::Allocate({image.dtype(), Shape{height, width, channels}});
  const auto pass = channels == 3   ? RowPass<Rule, T, 3>
                    : channels == 1 ? RowPass<Rule, T, 1>
                                    : RowPass<Rule, T, 0>;
  for (int64_t y = 0; y < height; ++y) {
    pass(image.data<T>() + y * image.shape()[1] * channels, channels, taps,
         result.mutable_data<T>() + y * width * channels);
  }
  return result;
}

template <typename Rule, typename T>
Tensor Vertical(const Tensor& image, int64_t height, const Taps<typename Rule::Weight>& taps) {
  const int64_t row = image.shape()[1] * image.shape()[2];
  Tensor result =
      Tensor::Allocate({image.dtype(), Shape{height, image.shape()[1], image.shape()[2]}});
  std::vector<typename Rule::Sum> sums(static_cast<size_t>(row));
  for (int64_t y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), Rule::kStart);
    for (int64_t tap = 0; tap < taps.count[static_cast<size_t>(y)]; ++tap) {
      const typename Rule::Weight weight = taps.weights[static_cast<size_t>(y * taps.most + tap)];
      const T* source = image.data<T>() + (taps.first[static_cast<size_t>(y)] + tap) * row;
      for (int64_t x = 0; x < row; ++x) {
        sums[static_cast<size_t>(x)] += static_cast<typename Rule::Sum>(source[x]) * weight;
      }
    }
    T* target = result.mutable_data<T>() + y * row;
    for (int64_t x = 0; x < row; ++x) {
      target[x] = Rule::Pixel(sums[static_cast<size_t>(x)]);
    }
  }
  return result;
}

Tensor Resample(const Tensor& image, ImageSize to, const Filter& filter) {
  Tensor result = image;
  if (image.shape()[1] != to.width) {
    const Taps<double> taps = ComputeTaps(image.shape()[1], to.width, filter);
    result = image.dtype() == DType::kUint8
                 ? Horizontal<ByteSum, uint8_t>(result, to.width, FixedPoint(taps))
                 : Horizontal<FloatSum, float>(result, to.width, taps);
  }
  if (image.shape()[0] != to.height) {
    const Taps<double> taps = ComputeTaps(image.shape()[0], to.height, filter);
    result = image.dtype() == DType::kUint8
                 ? Vertical<ByteSum, uint8_t>(result, to.height, FixedPoint(taps))
                 : Vertical<FloatSum, float>(result, to.height, taps);
  }
  return result;
}

// The source index of each output index. Pillow adds the step up instead of multiplying; where the
// sum runs past the end, the pixel stays 0, here -1.
std::vector<int64_t> NearestIndex(int64_t in, int64_t out) {
  const double step = static_cast<double>(static_cast<float>(in)) / static_cast<double>(out);
  std::vector<int64_t> index;
  double at = step * 0.5;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t source = static_cast<int64_t>(at);
    index.push_back(source < in ? source : -1);
    at += step;
  }
  return index;
}

template <typename T>
Tensor Nearest(const Tensor& image, ImageSize to) {
  const int64_t width = image.shape()[1], channels = image.shape()[2];
  const std::vector<int64_t> rows = NearestIndex(image.shape()[0], to.height);
  const std::vector<int64_t> columns = NearestIndex(width, to.width);
  Tensor result = Tensor::Allocate({image.dtype(), Shape{to.height, to.width, channels}});
  T* target = result.mutable_data<T>();
  for (const int64_t row : rows) {
    for (const int64_t column : columns) {
      if (row >= 0 && column >= 0) {
        std::copy_n(image.data<T>() + (row * width + column) * channels, channels, target);
      }
      target += channels;
    }
  }
  return result;
}

// a * b / 255, rounded, in integers.
uint8_t MultiplyBytes(int a, int b) {
  const int product = a * b + 128;
  return static_cast<uint8_t>(((product >> 8) + product) >> 8);
}

Tensor Premultiplied(const Tensor& rgba) {
  Tensor result = Tensor::Allocate(rgba.type());
  const uint8_t* in = rgba.data<uint8_t>();
  uint8_t* out = result.mutable_data<uint8_t>();
  for (int64_t i = 0; i < rgba.elements(); i += 4) {
    for (int c = 0; c < 3; ++c) {
      out[i + c] = MultiplyBytes(in[i + c], in[i + 3]);
    }
    out[i + 3] = in[i + 3];
  }
  return result;
}

void DivideByAlpha(Tensor& rgba) {
  uint8_t* pixel = rgba.mutable_data<uint8_t>();
  for (int64_t i = 0; i < rgba.elements(); i += 4, pixel += 4) {
    const int alpha = pixel[3];
    if (alpha == 0 || alpha == 255) {
      continue;
    }
    for (int c = 0; c < 3; ++c) {
      pixel[c] = static_cast<uint8_t>(std::min(255, 255 * pixel[c] / alpha));
    }
  }
}

}  // namespace

Tensor PilResize(const Tensor& image, ImageSize to, Interpolation mode) {
  if (ImageSize{image.shape()[0], image.shape()[1]} == to) {
    return image;
  }
  const bool bytes = image.dtype() == DType::kUint8;
  if (mode == Interpolation::kNearest) {
    return bytes ? Nearest<uint8_t>(image, to) : Nearest<float>(image, to);
  }
  const Filter filter = FilterOf(mode);
  if (!bytes || image.shape()[2] != 4) {
    return Resample(image, to, filter);
  }
  Tensor result = Resample(Premultiplied(image), to, filter);
  DivideByAlpha(result);
  return result;
}

}  // namespace qb
