// OpenCV's resize: 11-bit fixed point on uint8. Where the library's vector code rounds otherwise
// than its plain code (bicubic), each pixel takes the form that the library takes there.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/preprocess/opencv_area.h"
#include "core/dataset/preprocess/resize.h"

namespace qb {
namespace {

constexpr int kCoefBits = 11;
constexpr float kCoefScale = 1 << kCoefBits;
constexpr int kMostTaps = 8;
// Pixels that one 128-bit step of the vector code takes.
constexpr int64_t kVectorWidth = 8;

using Coefficients = std::array<float, kMostTaps>;

Coefficients CubicCoefficients(float x) {
  constexpr float kA = -0.75f;
  Coefficients c{};
  c[0] = ((kA * (x + 1) - 5 * kA) * (x + 1) + 8 * kA) * (x + 1) - 4 * kA;
  c[1] = ((kA + 2) * x - (kA + 3)) * x * x + 1;
  c[2] = ((kA + 2) * (1 - x) - (kA + 3)) * (1 - x) * (1 - x) + 1;
  c[3] = 1.f - c[0] - c[1] - c[2];
  return c;
}

Coefficients LanczosCoefficients(float x) {
  constexpr double kHalfRoot = 0.70710678118654752440084436210485;
  constexpr double kPi = 3.1415926535897932384626433832795;
  constexpr double kRotations[][2] = {
      {1, 0},  {-kHalfRoot, -kHalfRoot}, {0, 1},  {kHalfRoot, -kHalfRoot},
      {-1, 0}, {kHalfRoot, kHalfRoot},   {0, -1}, {-kHalfRoot, kHalfRoot}};
  Coefficients c{};
  const double angle = -(x + 3) * kPi * 0.25;
  const double sine = std::sin(angle), cosine = std::cos(angle);
  float sum = 0;
  for (int i = 0; i < kMostTaps; ++i) {
    const float distance = x + 3 - static_cast<float>(i);
    if (std::fabs(distance) >= 1e-6f) {
      const double y = -static_cast<double>(distance) * kPi * 0.25;
      c[static_cast<size_t>(i)] =
          static_cast<float>((kRotations[i][0] * sine + kRotations[i][1] * cosine) / (y * y));
    } else {
      c[static_cast<size_t>(i)] = 1e30f;  // the sample itself: all others vanish beside it
    }
    sum += c[static_cast<size_t>(i)];
  }
  sum = 1.f / sum;
  for (float& coefficient : c) {
    coefficient *= sum;
  }
  return c;
}

int TapsOf(Interpolation mode) {
  return mode == Interpolation::kLanczos ? 8 : mode == Interpolation::kBicubic ? 4 : 2;
}

// One axis: the first tap's source index of each output index (it may lie outside) and the weights.
template <typename Weight>
struct Axis {
  std::vector<int64_t> first;
  std::vector<Weight> weights;  // taps an output index
};

template <typename Weight>
Weight ToWeight(float coefficient) {
  if constexpr (sizeof(Weight) == sizeof(int16_t)) {
    return static_cast<int16_t>(
        std::clamp(std::nearbyint(coefficient * kCoefScale), -32768.f, 32767.f));
  } else {
    return coefficient;
  }
}

// Where an output index lies in the source: the integer part and the fraction.
std::pair<int64_t, float> PlaceOf(int64_t i, double scale, double inverse, bool area) {
  if (!area) {
    const float at = static_cast<float>((static_cast<double>(i) + 0.5) * scale - 0.5);
    const float whole = std::floor(at);
    return {static_cast<int64_t>(whole), at - whole};
  }
  // Area enlarges by a kind of bilinear interpolation.
  const int64_t whole = static_cast<int64_t>(std::floor(static_cast<double>(i) * scale));
  const float fraction =
      static_cast<float>(static_cast<double>(i + 1) - static_cast<double>(whole + 1) * inverse);
  return {whole, fraction <= 0 ? 0.f : fraction - std::floor(fraction)};
}

// `clamp_fraction`: columns put the fraction to 0 at both ends; rows keep it.
template <typename Weight>
Axis<Weight> MakeAxis(int64_t in, int64_t out, Interpolation mode, bool clamp_fraction) {
  const int taps = TapsOf(mode);
  const double inverse = static_cast<double>(out) / static_cast<double>(in);
  const double scale = 1.0 / inverse;
  Axis<Weight> axis;
  for (int64_t i = 0; i < out; ++i) {
    auto [whole, fraction] = PlaceOf(i, scale, inverse, mode == Interpolation::kArea);
    if (clamp_fraction && taps == 2 && (whole < 0 || whole >= in - 1)) {
      fraction = 0;
      whole = std::clamp<int64_t>(whole, 0, in - 1);
    }
    Coefficients c{1.f - fraction, fraction};
    if (taps == 4) {
      c = CubicCoefficients(fraction);
    } else if (taps == 8) {
      c = LanczosCoefficients(fraction);
    }
    axis.first.push_back(whole - taps / 2 + 1);
    for (int k = 0; k < taps; ++k) {
      axis.weights.push_back(ToWeight<Weight>(c[static_cast<size_t>(k)]));
    }
  }
  return axis;
}

// How sums of one pixel type are made: uint8 by int32 and 16-bit weights, float32 by float.
struct ByteRule {
  using Pixel = uint8_t;
  using Sum = int32_t;
  using Weight = int16_t;
};
struct FloatRule {
  using Pixel = float;
  using Sum = float;
  using Weight = float;
};

template <typename Rule, int kTaps, int kChannels>
void ResizeRow(const typename Rule::Pixel* in, int64_t width, int64_t channels,
               const Axis<typename Rule::Weight>& axis, typename Rule::Sum* out) {
  const int64_t c_count = kChannels > 0 ? kChannels : channels;
  for (size_t i = 0; i < axis.first.size(); ++i) {
    const typename Rule::Weight* weights = axis.weights.data() + i * kTaps;
    int64_t offsets[kTaps];
    for (int k = 0; k < kTaps; ++k) {
      offsets[k] = std::clamp<int64_t>(axis.first[i] + k, 0, width - 1) * c_count;
    }
    for (int64_t c = 0; c < c_count; ++c) {
      typename Rule::Sum sum = 0;
      for (int k = 0; k < kTaps; ++k) {
        sum += static_cast<typename Rule::Sum>(in[offsets[k] + c]) * weights[k];
      }
      *out++ = sum;
    }
  }
}

uint8_t RoundFixed(int32_t sum) {
  constexpr int kShift = 2 * kCoefBits;
  return static_cast<uint8_t>(std::clamp((sum + (1 << (kShift - 1))) >> kShift, 0, 255));
}

// The columns below `count` in steps of the vector, as float arithmetic from the last row up.
int64_t CubicByVector(const int32_t* const* rows, const int16_t* weights, int64_t count,
                      uint8_t* out) {
  constexpr float kScale = 1.f / (kCoefScale * kCoefScale);
  const float b[4] = {
      static_cast<float>(weights[0]) * kScale, static_cast<float>(weights[1]) * kScale,
      static_cast<float>(weights[2]) * kScale, static_cast<float>(weights[3]) * kScale};
  const int64_t end = count / kVectorWidth * kVectorWidth;
  for (int64_t x = 0; x < end; ++x) {
    float sum = static_cast<float>(rows[3][x]) * b[3];
    for (int k = 2; k >= 0; --k) {
      const float product = static_cast<float>(rows[k][x]) * b[k];
      sum = product + sum;
    }
    out[x] = static_cast<uint8_t>(std::clamp(std::nearbyint(sum), 0.f, 255.f));
  }
  return end;
}

template <int kTaps>
void CombineRows(const int32_t* const* rows, const int16_t* weights, int64_t count, uint8_t* out) {
  if constexpr (kTaps == 2) {
    const int32_t b0 = weights[0], b1 = weights[1];
    for (int64_t x = 0; x < count; ++x) {
      out[x] = static_cast<uint8_t>(
          (((b0 * (rows[0][x] >> 4)) >> 16) + ((b1 * (rows[1][x] >> 4)) >> 16) + 2) >> 2);
    }
    return;
  }
  int64_t x = kTaps == 4 ? CubicByVector(rows, weights, count, out) : 0;
  for (; x < count; ++x) {
    // Wraps as the library's sums do: bicubic and Lanczos weights overshoot.
    uint32_t sum = 0;
    for (int k = 0; k < kTaps; ++k) {
      sum += static_cast<uint32_t>(rows[k][x]) * static_cast<uint32_t>(int32_t{weights[k]});
    }
    out[x] = RoundFixed(static_cast<int32_t>(sum));
  }
}

template <int kTaps>
void CombineRows(const float* const* rows, const float* weights, int64_t count, float* out) {
  for (int64_t x = 0; x < count; ++x) {
    float sum = 0;
    for (int k = 0; k < kTaps; ++k) {
      sum += rows[k][x] * weights[k];
    }
    out[x] = sum;
  }
}

// Rows are resized once each, kept in a ring of kTaps, and combined.
template <typename Rule, int kTaps>
Tensor Separable(const Tensor& image, ImageSize to, Interpolation mode) {
  using Pixel = typename Rule::Pixel;
  using Sum = typename Rule::Sum;
  const int64_t height = image.shape()[0], width = image.shape()[1], channels = image.shape()[2];
  const auto columns = MakeAxis<typename Rule::Weight>(width, to.width, mode, true);
  const auto lines = MakeAxis<typename Rule::Weight>(height, to.height, mode, false);
  const int64_t row = to.width * channels;
  Tensor result = Tensor::Allocate({image.dtype(), Shape{to.height, to.width, channels}});
  std::vector<Sum> ring(static_cast<size_t>(row * kTaps));
  std::array<int64_t, kTaps> held;
  held.fill(-1);
  const auto resize_row = channels == 3   ? ResizeRow<Rule, kTaps, 3>
                          : channels == 1 ? ResizeRow<Rule, kTaps, 1>
                                          : ResizeRow<Rule, kTaps, 0>;
  for (int64_t y = 0; y < to.height; ++y) {
    const Sum* rows[kTaps];
    for (int k = 0; k < kTaps; ++k) {
      const int64_t line =
          std::clamp<int64_t>(lines.first[static_cast<size_t>(y)] + k, 0, height - 1);
      const size_t slot = static_cast<size_t>(line % kTaps);
      Sum* buffer = ring.data() + static_cast<int64_t>(slot) * row;
      if (held[slot] != line) {
        resize_row(image.data<Pixel>() + line * width * channels, width, channels, columns, buffer);
        held[slot] = line;
      }
      rows[k] = buffer;
    }
    CombineRows<kTaps>(rows, lines.weights.data() + y * kTaps, row,
                       result.mutable_data<Pixel>() + y * row);
  }
  return result;
}

std::vector<int64_t> NearestIndex(int64_t in, int64_t out) {
  const double step = 1.0 / (static_cast<double>(out) / static_cast<double>(in));
  std::vector<int64_t> index;
  for (int64_t i = 0; i < out; ++i) {
    index.push_back(
        std::min(static_cast<int64_t>(std::floor(static_cast<double>(i) * step)), in - 1));
  }
  return index;
}

Tensor Nearest(const Tensor& image, ImageSize to) {
  const int64_t width = image.shape()[1], channels = image.shape()[2];
  const size_t pixel = static_cast<size_t>(channels * SizeBytes(image.dtype()));
  const std::vector<int64_t> rows = NearestIndex(image.shape()[0], to.height);
  const std::vector<int64_t> columns = NearestIndex(width, to.width);
  Tensor result = Tensor::Allocate({image.dtype(), Shape{to.height, to.width, channels}});
  const char* source = static_cast<const char*>(image.raw());
  char* target = static_cast<char*>(result.mutable_raw());
  for (const int64_t row : rows) {
    for (const int64_t column : columns) {
      std::memcpy(target, source + static_cast<size_t>(row * width + column) * pixel, pixel);
      target += pixel;
    }
  }
  return result;
}

template <typename Rule>
Tensor SeparableOf(const Tensor& image, ImageSize to, Interpolation mode) {
  switch (TapsOf(mode)) {
    case 8:
      return Separable<Rule, 8>(image, to, mode);
    case 4:
      return Separable<Rule, 4>(image, to, mode);
    default:
      return Separable<Rule, 2>(image, to, mode);
  }
}

}  // namespace

Tensor OpencvResize(const Tensor& image, ImageSize to, Interpolation mode) {
  const ImageSize from{image.shape()[0], image.shape()[1]};
  if (from == to) {
    return image;
  }
  if (mode == Interpolation::kNearest) {
    return Nearest(image, to);
  }
  // The library takes its area code for bilinear halving too.
  const bool halving = mode == Interpolation::kBilinear && from.height == 2 * to.height &&
                       from.width == 2 * to.width;
  if (halving ||
      (mode == Interpolation::kArea && from.height >= to.height && from.width >= to.width)) {
    return OpencvAreaShrink(image, to);
  }
  return image.dtype() == DType::kUint8 ? SeparableOf<ByteRule>(image, to, mode)
                                        : SeparableOf<FloatRule>(image, to, mode);
}

}  // namespace qb
