// torch's interpolation on the CPU in float32: separable taps, columns within rows.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/dataset/preprocess/resize.h"

namespace qb {
namespace {

// The taps of each output index along one axis.
struct Axis {
  int64_t most = 0;  // taps an output index
  std::vector<int64_t> index;
  std::vector<float> weights;
};

float AxisScale(int64_t in, int64_t out, bool align_corners) {
  if (align_corners) {
    return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0f;
  }
  return static_cast<float>(in) / static_cast<float>(out);
}

void Append(Axis& axis, int64_t in, int64_t index, float weight) {
  axis.index.push_back(std::clamp<int64_t>(index, 0, in - 1));
  axis.weights.push_back(weight);
}

Axis NearestAxis(int64_t in, int64_t out) {
  const float scale = AxisScale(in, out, false);
  Axis axis{.most = 1, .index = {}, .weights = {}};
  for (int64_t i = 0; i < out; ++i) {
    Append(axis, in, static_cast<int64_t>(std::floor(static_cast<float>(i) * scale)), 1.0f);
  }
  return axis;
}

float SourceOf(int64_t i, float scale, bool align_corners) {
  return align_corners ? scale * static_cast<float>(i)
                       : scale * (static_cast<float>(i) + 0.5f) - 0.5f;
}

Axis LinearAxis(int64_t in, int64_t out, bool align_corners) {
  const float scale = AxisScale(in, out, align_corners);
  Axis axis{.most = 2, .index = {}, .weights = {}};
  for (int64_t i = 0; i < out; ++i) {
    const float at = std::max(0.0f, SourceOf(i, scale, align_corners));
    const int64_t low = std::min(static_cast<int64_t>(at), in - 1);
    const float fraction = std::min(std::max(at - static_cast<float>(low), 0.0f), 1.0f);
    Append(axis, in, low, 1.0f - fraction);
    Append(axis, in, low + 1, fraction);
  }
  return axis;
}

float CubicNear(float x, float a) { return ((a + 2) * x - (a + 3)) * x * x + 1; }
float CubicFar(float x, float a) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; }

Axis CubicAxis(int64_t in, int64_t out, bool align_corners) {
  constexpr float kA = -0.75f;
  const float scale = AxisScale(in, out, align_corners);
  Axis axis{.most = 4, .index = {}, .weights = {}};
  for (int64_t i = 0; i < out; ++i) {
    const float at = SourceOf(i, scale, align_corners);
    const float whole = std::floor(at);
    const int64_t low = static_cast<int64_t>(whole);
    const float t = std::min(std::max(at - whole, 0.0f), 1.0f);
    Append(axis, in, low - 1, CubicFar(t + 1, kA));
    Append(axis, in, low, CubicNear(t, kA));
    Append(axis, in, low + 1, CubicNear(1 - t, kA));
    Append(axis, in, low + 2, CubicFar(2 - t, kA));
  }
  return axis;
}

float AntialiasWeight(Interpolation mode, float x) {
  x = std::fabs(x);
  if (mode == Interpolation::kBilinear) {
    return x < 1 ? 1 - x : 0;
  }
  constexpr float kA = -0.5f;
  return x < 1 ? CubicNear(x, kA) : x < 2 ? CubicFar(x, kA) : 0;
}

Axis AntialiasAxis(int64_t in, int64_t out, const TorchResizeOptions& options) {
  const float scale = AxisScale(in, out, options.align_corners);
  const float width = options.mode == Interpolation::kBilinear ? 2.0f : 4.0f;
  const float support = scale >= 1.0f ? width * 0.5f * scale : width * 0.5f;
  const float inverse = scale >= 1.0f ? 1.0f / scale : 1.0f;
  Axis axis;
  axis.most = static_cast<int64_t>(std::ceil(support)) * 2 + 1;
  for (int64_t i = 0; i < out; ++i) {
    const float center = scale * (static_cast<float>(i) + 0.5f);
    const float low = center - support + 0.5f;
    const float high = center + support + 0.5f;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(low), 0);
    const int64_t end = std::min(static_cast<int64_t>(high), in);
    std::vector<float> weights(static_cast<size_t>(axis.most), 0.0f);
    float total = 0.0f;
    for (int64_t x = 0; x < end - first; ++x) {
      const float distance = (static_cast<float>(x + first) - center + 0.5f) * inverse;
      weights[static_cast<size_t>(x)] = AntialiasWeight(options.mode, distance);
      total += weights[static_cast<size_t>(x)];
    }
    for (int64_t x = 0; x < axis.most; ++x) {
      const float weight = weights[static_cast<size_t>(x)];
      Append(axis, in, first + x, total != 0.0f ? weight / total : weight);
    }
  }
  return axis;
}

Axis AreaAxis(int64_t in, int64_t out) {
  Axis axis;
  axis.most = (in + out - 1) / out + 1;
  for (int64_t i = 0; i < out; ++i) {
    const int64_t first = i * in / out;
    const int64_t end = ((i + 1) * in + out - 1) / out;
    for (int64_t x = 0; x < axis.most; ++x) {
      // Sums first, one division at the end: Combine divides.
      Append(axis, in, first + x, first + x < end ? 1.0f : 0.0f);
    }
  }
  return axis;
}

Axis MakeAxis(int64_t in, int64_t out, const TorchResizeOptions& options) {
  switch (options.mode) {
    case Interpolation::kNearest:
      return NearestAxis(in, out);
    case Interpolation::kArea:
      return AreaAxis(in, out);
    case Interpolation::kBilinear:
      return options.antialias ? AntialiasAxis(in, out, options)
                               : LinearAxis(in, out, options.align_corners);
    case Interpolation::kBicubic:
      return options.antialias ? AntialiasAxis(in, out, options)
                               : CubicAxis(in, out, options.align_corners);
    case Interpolation::kLanczos:
      break;
  }
  QB_CHECK_MSG(false, "torch has no such mode");
}

template <typename T>
T FromFloat(float value) {
  if constexpr (sizeof(T) == 1) {
    return static_cast<T>(std::clamp(std::nearbyint(value), 0.f, 255.f));
  } else {
    return value;
  }
}

template <typename T>
std::vector<float> Columns(const Tensor& image, int64_t width, const Axis& axis) {
  const int64_t height = image.shape()[0], channels = image.shape()[2];
  std::vector<float> result(static_cast<size_t>(height * width * channels));
  float* target = result.data();
  for (int64_t y = 0; y < height; ++y) {
    const T* source = image.data<T>() + y * image.shape()[1] * channels;
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0.0f;
        for (int64_t k = x * axis.most; k < (x + 1) * axis.most; ++k) {
          sum += static_cast<float>(source[axis.index[static_cast<size_t>(k)] * channels + c]) *
                 axis.weights[static_cast<size_t>(k)];
        }
        *target++ = sum;
      }
    }
  }
  return result;
}

template <typename T>
Tensor Resize(const Tensor& image, ImageSize to, const TorchResizeOptions& options) {
  const int64_t channels = image.shape()[2], row = to.width * channels;
  const Axis columns = MakeAxis(image.shape()[1], to.width, options);
  const Axis rows = MakeAxis(image.shape()[0], to.height, options);
  const std::vector<float> half = Columns<T>(image, to.width, columns);
  const bool area = options.mode == Interpolation::kArea;
  const auto count = [](const Axis& axis, int64_t i) {
    float sum = 0;
    for (int64_t k = i * axis.most; k < (i + 1) * axis.most; ++k) {
      sum += axis.weights[static_cast<size_t>(k)];
    }
    return sum;
  };
  Tensor result = Tensor::Allocate({image.dtype(), Shape{to.height, to.width, channels}});
  std::vector<float> sums(static_cast<size_t>(row));
  for (int64_t y = 0; y < to.height; ++y) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (int64_t k = y * rows.most; k < (y + 1) * rows.most; ++k) {
      const float weight = rows.weights[static_cast<size_t>(k)];
      const float* source = half.data() + rows.index[static_cast<size_t>(k)] * row;
      for (int64_t x = 0; x < row; ++x) {
        sums[static_cast<size_t>(x)] += source[x] * weight;
      }
    }
    T* target = result.mutable_data<T>() + y * row;
    const float lines = area ? count(rows, y) : 1.0f;
    for (int64_t x = 0; x < row; ++x) {
      const float sum = sums[static_cast<size_t>(x)];
      target[x] = FromFloat<T>(area ? sum / lines / count(columns, x / channels) : sum);
    }
  }
  return result;
}

}  // namespace

std::optional<Interpolation> InterpolationFromName(absl::string_view name) {
  constexpr std::pair<absl::string_view, Interpolation> kNames[] = {
      {"nearest", Interpolation::kNearest},
      {"bilinear", Interpolation::kBilinear},
      {"bicubic", Interpolation::kBicubic},
      {"area", Interpolation::kArea},
      {"lanczos", Interpolation::kLanczos}};
  for (const auto& [text, mode] : kNames) {
    if (text == name) {
      return mode;
    }
  }
  return std::nullopt;
}

std::optional<ResizeBackend> ResizeBackendFromName(absl::string_view name) {
  constexpr std::pair<absl::string_view, ResizeBackend> kNames[] = {
      {"torch", ResizeBackend::kTorch},
      {"pil", ResizeBackend::kPil},
      {"opencv", ResizeBackend::kOpencv}};
  for (const auto& [text, backend] : kNames) {
    if (text == name) {
      return backend;
    }
  }
  return std::nullopt;
}

Tensor TorchResize(const Tensor& image, ImageSize to, const TorchResizeOptions& options) {
  if (ImageSize{image.shape()[0], image.shape()[1]} == to) {
    return image;
  }
  return image.dtype() == DType::kUint8 ? Resize<uint8_t>(image, to, options)
                                        : Resize<float>(image, to, options);
}

}  // namespace qb
