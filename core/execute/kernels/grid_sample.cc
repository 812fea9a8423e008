// GridSample: an image at places that a grid names.
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/ops/sampling.h"

namespace qb::execute {
namespace {

constexpr int kMostAxes = 3;
constexpr int kMostTaps = 4;

// Pixels and weights along one axis; pixel -1 counts as 0.
struct Taps {
  int count = 0;
  int64_t at[kMostTaps] = {};
  double weight[kMostTaps] = {};

  void Add(int64_t pixel, double w) {
    at[count] = pixel;
    weight[count++] = w;
  }
};

// x mirrored into [low, high].
double Reflected(double x, double low, double high) {
  const double span = high - low;
  if (!(span > 0.0)) {
    return low;
  }
  const double folded = std::fmod(std::abs(x - low), 2.0 * span);
  return low + (folded > span ? 2.0 * span - folded : folded);
}

class AxisSampler {
 public:
  AxisSampler(const GridSampleAttrs& attrs, int64_t size) : attrs_(attrs), size_(size) {}

  // The taps for place `g` in [-1, 1].
  Taps At(double g) const {
    const auto size = static_cast<double>(size_);
    double x =
        attrs_.align_corners ? (g + 1.0) / 2.0 * (size - 1.0) : ((g + 1.0) * size - 1.0) / 2.0;
    // NaN and absurd places stay convertible to integers.
    x = std::isnan(x) ? -2.0 : std::clamp(x, -1e9, 1e9);
    if (attrs_.padding_mode == OutsideMode::kBorder) {
      x = attrs_.mode == SampleMode::kCubic ? x : std::clamp(x, 0.0, size - 1.0);
    } else if (attrs_.padding_mode == OutsideMode::kReflection &&
               attrs_.mode != SampleMode::kCubic) {
      x = Reflect(x);
    }
    return TapsAt(x);
  }

 private:
  double Reflect(double x) const {
    const auto size = static_cast<double>(size_);
    const double mirrored =
        attrs_.align_corners ? Reflected(x, 0.0, size - 1.0) : Reflected(x, -0.5, size - 0.5);
    return std::clamp(mirrored, 0.0, size - 1.0);
  }

  int64_t Pixel(int64_t at) const {
    if (at >= 0 && at < size_) {
      return at;
    }
    switch (attrs_.padding_mode) {
      case OutsideMode::kZeros:
        return -1;
      case OutsideMode::kBorder:
        return std::clamp<int64_t>(at, 0, size_ - 1);
      case OutsideMode::kReflection:
        break;
    }
    return static_cast<int64_t>(std::nearbyint(Reflect(static_cast<double>(at))));
  }

  Taps TapsAt(double x) const {
    Taps taps;
    if (attrs_.mode == SampleMode::kNearest) {
      taps.Add(Pixel(static_cast<int64_t>(std::nearbyint(x))), 1.0);
      return taps;
    }
    const double below = std::floor(x);
    const auto first = static_cast<int64_t>(below);
    const double t = x - below;
    if (attrs_.mode == SampleMode::kLinear) {
      taps.Add(Pixel(first), 1.0 - t);
      taps.Add(Pixel(first + 1), t);
      return taps;
    }
    constexpr double kA = -0.75;  // Source: ONNX GridSample, cubic
    const auto near = [](double d) { return ((kA + 2.0) * d - (kA + 3.0)) * d * d + 1.0; };
    const auto far = [](double d) { return ((kA * d - 5.0 * kA) * d + 8.0 * kA) * d - 4.0 * kA; };
    taps.Add(Pixel(first - 1), far(t + 1.0));
    taps.Add(Pixel(first), near(t));
    taps.Add(Pixel(first + 1), near(1.0 - t));
    taps.Add(Pixel(first + 2), far(2.0 - t));
    return taps;
  }

  const GridSampleAttrs& attrs_;
  const int64_t size_;
};

// Three axes, of which those that the image lacks have one tap and no stride.
struct Place {
  Taps taps[kMostAxes];
  int64_t strides[kMostAxes] = {0, 0, 0};

  Place() {
    for (Taps& axis : taps) {
      axis.Add(0, 1.0);
    }
  }
};

template <typename T>
double Gathered(const T* plane, const Place& place) {
  double sum = 0.0;
  for (int i = 0; i < place.taps[0].count; ++i) {
    for (int j = 0; j < place.taps[1].count; ++j) {
      for (int k = 0; k < place.taps[2].count; ++k) {
        const int64_t at[kMostAxes] = {place.taps[0].at[i], place.taps[1].at[j],
                                       place.taps[2].at[k]};
        const double weight =
            place.taps[0].weight[i] * place.taps[1].weight[j] * place.taps[2].weight[k];
        if (at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && weight != 0.0) {
          sum += weight *
                 static_cast<double>(plane[at[0] * place.strides[0] + at[1] * place.strides[1] +
                                           at[2] * place.strides[2]]);
        }
      }
    }
  }
  return sum;
}

template <typename T>
void Sample(const Node& node, const KernelArgs& args) {
  const auto& attrs = node.attrs<GridSampleAttrs>();
  const Shape& x = node.operand(0)->shape();
  const int64_t axes = x.rank() - 2;
  const std::vector<int64_t> strides = x.strides();
  std::vector<AxisSampler> samplers;
  for (int64_t d = 0; d < axes; ++d) {
    samplers.emplace_back(attrs, x[d + 2]);
  }
  const int64_t places = node.shape().elements() / (x[0] * x[1]);
  Place place;
  const int64_t shift = kMostAxes - axes;
  for (int64_t d = 0; d < axes; ++d) {
    place.strides[d + shift] = strides[static_cast<size_t>(d + 2)];
  }
  const T* grid = args.operand<T>(1);
  T* out = args.output<T>();
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t p = 0; p < places; ++p, grid += axes) {
      for (int64_t d = 0; d < axes; ++d) {
        // The grid names the last axis first.
        place.taps[d + shift] =
            samplers[static_cast<size_t>(d)].At(static_cast<double>(grid[axes - 1 - d]));
      }
      for (int64_t c = 0; c < x[1]; ++c) {
        const T* plane = args.operand<T>(0) + n * strides[0] + c * strides[1];
        out[(n * x[1] + c) * places + p] = static_cast<T>(Gathered(plane, place));
      }
    }
  }
}

}  // namespace

KernelOr MakeGridSample(const KernelRequest& request) {
  if (request.operand_shape(0).elements() == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel(
        [node = request.node](const KernelArgs& args) { Sample<T>(*node, args); });
  });
}

}  // namespace qb::execute
