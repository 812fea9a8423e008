// Resize: nearest, linear and cubic, any rank, axis by axis (all three are separable).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/ops/movement.h"

namespace qb::execute {
namespace {

// One axis of a resize: elements before and after, the factor, and the region as shares.
struct ResizeAxis {
  int64_t from = 0;
  int64_t to = 0;
  float scale = 1.0f;
  float roi_start = 0.0f;
  float roi_end = 1.0f;
};

// The operand's coordinate of result position `i`. In float, as ONNX Runtime computes it: ties of
// the nearest modes depend on the rounding. Source: ONNX Resize, coordinate_transformation_mode.
float SourceCoordinate(const std::string& transform, int64_t i, const ResizeAxis& axis) {
  const float x = static_cast<float>(i);
  const float last = static_cast<float>(axis.from - 1);
  if (transform == "asymmetric") {
    return x / axis.scale;
  }
  if (transform == "align_corners") {
    return axis.to == 1 ? 0.0f : x * last / static_cast<float>(axis.to - 1);
  }
  if (transform == "tf_crop_and_resize") {
    return axis.to == 1 ? 0.5f * (axis.roi_start + axis.roi_end) * last
                        : axis.roi_start * last + x * (axis.roi_end - axis.roi_start) * last /
                                                      static_cast<float>(axis.to - 1);
  }
  if (transform == "tf_half_pixel_for_nn") {
    return (x + 0.5f) / axis.scale;
  }
  if (transform == "pytorch_half_pixel" && axis.to == 1) {
    return 0.0f;
  }
  const float coordinate = (x + 0.5f) / axis.scale - 0.5f;
  if (transform != "half_pixel_symmetric") {
    return coordinate;
  }
  // The result's size was rounded down: what is lost is lost on both sides.
  const float exact = axis.scale * static_cast<float>(axis.from);
  const float center = static_cast<float>(axis.from) / 2.0f;
  return coordinate + center * (1.0f - static_cast<float>(axis.to) / exact);
}

int64_t NearestIndex(const std::string& mode, float x) {
  if (mode == "floor") {
    return static_cast<int64_t>(std::floor(x));
  }
  if (mode == "ceil") {
    return static_cast<int64_t>(std::ceil(x));
  }
  const float below = std::floor(x);
  const float fraction = x - below;
  const bool up = mode == "round_prefer_ceil" ? fraction >= 0.5f : fraction > 0.5f;
  return static_cast<int64_t>(below) + (up ? 1 : 0);
}

// For each result position of one axis: `taps` operand positions and their weights.
struct AxisTaps {
  int64_t taps = 1;
  std::vector<int64_t> index;  // clamped to the operand
  std::vector<float> weight;
  std::vector<uint8_t> outside;  // by result position; empty: nothing is extrapolated
};

// The weight of an element at distance `d`.
float LinearWeight(float d) { return std::max(0.0f, 1.0f - std::abs(d)); }

// Keys' cubic convolution. Source: ONNX Resize, cubic_coeff_a.
float CubicWeight(float d, float a) {
  d = std::abs(d);
  if (d <= 1.0f) {
    return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f;
  }
  return d < 2.0f ? ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a : 0.0f;
}

void AppendLinear(float x, int64_t from, AxisTaps& out) {
  const float bounded = std::clamp(x, 0.0f, static_cast<float>(from - 1));
  const int64_t below = static_cast<int64_t>(bounded);
  const float fraction = bounded - static_cast<float>(below);
  out.index.insert(out.index.end(), {below, std::min(below + 1, from - 1)});
  out.weight.insert(out.weight.end(), {1.0f - fraction, fraction});
}

// All taps of one position, with weights that add up to 1 where they have to: `stretch` below 1
// spreads the filter over more elements.
void AppendFilter(const ResizeAttrs& attrs, float x, int64_t from, float stretch, AxisTaps& out) {
  const int64_t first = static_cast<int64_t>(std::floor(x)) + 1 - out.taps / 2;
  const bool cubic = attrs.mode == ResizeMode::kCubic;
  const size_t start = out.weight.size();
  float sum = 0.0f;
  for (int64_t k = 0; k < out.taps; ++k) {
    const int64_t at = first + k;
    const float d = (x - static_cast<float>(at)) * stretch;
    float weight = cubic ? CubicWeight(d, attrs.cubic_coeff_a) : LinearWeight(d);
    if (attrs.exclude_outside && (at < 0 || at >= from)) {
      weight = 0.0f;
    }
    out.index.push_back(std::clamp<int64_t>(at, 0, from - 1));
    out.weight.push_back(weight);
    sum += weight;
  }
  if ((attrs.exclude_outside || stretch < 1.0f) && sum != 0.0f) {
    for (size_t k = start; k < out.weight.size(); ++k) {
      out.weight[k] /= sum;
    }
  }
}

// Elements that the filter reaches to each side; more than all of them twice change nothing.
float ReachOf(const ResizeAttrs& attrs, const ResizeAxis& axis, float stretch) {
  const float reach = (attrs.mode == ResizeMode::kCubic ? 2.0f : 1.0f) / stretch;
  return std::min(reach, 2.0f * static_cast<float>(axis.from) + 2.0f);
}

AxisTaps TapsOf(const ResizeAttrs& attrs, const ResizeAxis& axis) {
  AxisTaps taps;
  const bool spreads = attrs.antialias && axis.scale < 1.0f && attrs.mode != ResizeMode::kNearest;
  const float stretch = spreads ? axis.scale : 1.0f;
  const float reach = ReachOf(attrs, axis, stretch);
  const bool filters = spreads || attrs.mode == ResizeMode::kCubic || attrs.exclude_outside;
  if (attrs.mode != ResizeMode::kNearest) {
    taps.taps = filters ? 2 * static_cast<int64_t>(std::ceil(reach)) : 2;
  }
  const bool extrapolates = attrs.transform_mode == "tf_crop_and_resize";
  for (int64_t i = 0; i < axis.to; ++i) {
    float x = SourceCoordinate(attrs.transform_mode, i, axis);
    if (extrapolates) {
      taps.outside.push_back(x < 0.0f || x > static_cast<float>(axis.from - 1) ? 1 : 0);
    }
    // Far outside only with absurd scales; keeps the conversion to integers defined.
    x = std::clamp(x, -4.0f, static_cast<float>(axis.from) + 4.0f);
    if (attrs.mode == ResizeMode::kNearest) {
      taps.index.push_back(
          std::clamp<int64_t>(NearestIndex(attrs.nearest_mode, x), 0, axis.from - 1));
      taps.weight.push_back(1.0f);
    } else if (filters) {
      AppendFilter(attrs, x, axis.from, stretch, taps);
    } else {
      AppendLinear(x, axis.from, taps);
    }
  }
  return taps;
}

// One axis: [outer, from, inner] -> [outer, to, inner].
struct ResizeStep {
  AxisView view;  // view.axis is the operand's
  AxisTaps taps;

  int64_t result_axis() const { return static_cast<int64_t>(taps.index.size()) / taps.taps; }
  int64_t result_elements() const { return view.outer * result_axis() * view.inner; }
};

// The value of rows whose place is outside the operand.
template <typename T>
void Extrapolate(const ResizeStep& step, T value, T* to) {
  for (int64_t o = 0; o < step.view.outer; ++o) {
    for (const uint8_t outside : step.taps.outside) {
      if (outside != 0) {
        std::fill_n(to, step.view.inner, value);
      }
      to += step.view.inner;
    }
  }
}

template <typename T>
void RunNearest(const ResizeStep& step, const T* from, T* to) {
  const size_t row_bytes = static_cast<size_t>(step.view.inner) * sizeof(T);
  for (int64_t o = 0; o < step.view.outer; ++o) {
    const T* block = from + o * step.view.axis * step.view.inner;
    if (step.view.inner == 1) {
      for (int64_t index : step.taps.index) {
        *to++ = block[index];
      }
      continue;
    }
    for (int64_t index : step.taps.index) {
      std::memcpy(to, block + index * step.view.inner, row_bytes);
      to += step.view.inner;
    }
  }
}

// One result row of `step`: the weighted sum of the operand's rows that position `at` names.
void Interpolate(const ResizeStep& step, int64_t at, const float* block, float* to) {
  const int64_t inner = step.view.inner;
  const int64_t* index = &step.taps.index[static_cast<size_t>(at * step.taps.taps)];
  const float* weight = &step.taps.weight[static_cast<size_t>(at * step.taps.taps)];
  const float* first = block + index[0] * inner;
  for (int64_t i = 0; i < inner; ++i) {
    to[i] = first[i] * weight[0];
  }
  for (int64_t t = 1; t < step.taps.taps; ++t) {
    const float* row = block + index[t] * inner;
    const float w = weight[t];
    for (int64_t i = 0; i < inner; ++i) {
      to[i] += row[i] * w;
    }
  }
}

void RunInterpolation(const ResizeStep& step, const float* from, float* to) {
  const int64_t result_axis = step.result_axis();
  for (int64_t o = 0; o < step.view.outer; ++o) {
    const float* block = from + o * step.view.axis * step.view.inner;
    for (int64_t at = 0; at < result_axis; ++at, to += step.view.inner) {
      Interpolate(step, at, block, to);
    }
  }
}

// The steps read and write two scratch buffers in turn; the last one writes the result.
template <typename T, typename Run>
KernelOr MakeSteps(std::vector<ResizeStep> steps, Run run) {
  int64_t buffer = 0;
  for (const ResizeStep& step : steps) {
    buffer = std::max(buffer, step.result_elements());
  }
  const int64_t elements = steps.empty() ? 0 : buffer;
  const int64_t buffers = std::clamp<int64_t>(static_cast<int64_t>(steps.size()) - 1, 0, 2);
  return MakeBodyKernel(
      [steps = std::move(steps), run, elements](const KernelArgs& args) {
        const T* from = args.operand<T>(0);
        T* const scratch = static_cast<T*>(args.scratch);
        for (size_t s = 0; s < steps.size(); ++s) {
          const bool last = s + 1 == steps.size();
          T* to = last ? args.output<T>() : scratch + (s % 2 == 0 ? 0 : elements);
          run(steps[s], from, to);
          from = to;
        }
      },
      {.scratch_bytes = buffers * elements * static_cast<int64_t>(sizeof(T))});
}

ResizeAxis AxisOf(const ResizeAttrs& attrs, int64_t axis, int64_t from, int64_t to) {
  const auto at = static_cast<size_t>(axis);
  ResizeAxis result = {from, to, static_cast<float>(to) / static_cast<float>(from)};
  if (at < attrs.scales.size()) {
    result.scale = attrs.scales[at];
  }
  if (!attrs.roi.empty()) {
    result.roi_start = attrs.roi[at];
    result.roi_end = attrs.roi[attrs.roi.size() / 2 + at];
  }
  return result;
}

std::vector<ResizeStep> StepsOf(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<ResizeAttrs>();
  Shape shape = request.operand_shape(0);
  const Shape& result = request.node->shape();
  std::vector<ResizeStep> steps;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const ResizeAxis one = AxisOf(attrs, axis, shape[axis], result[axis]);
    const bool crops = attrs.transform_mode == "tf_crop_and_resize" &&
                       (one.roi_start != 0.0f || one.roi_end != 1.0f);
    if (shape[axis] == result[axis] && one.scale == 1.0f && !crops) {
      continue;
    }
    steps.push_back({ViewAlong(shape, axis), TapsOf(attrs, one)});
    shape[axis] = result[axis];
  }
  if (steps.empty()) {  // a copy, written as a nearest step of one row
    steps.push_back({{1, 1, shape.elements()}, {1, {0}, {1.0f}, {}}});
  }
  return steps;
}

// Factors and sizes come from files and need not fit each other: a tiny factor with a large result
// would be a filter over everything at every position.
absl::Status CheckTaps(const KernelRequest& request) {
  constexpr double kMostTaps = 1 << 28;
  const auto& attrs = request.node->attrs<ResizeAttrs>();
  const Shape& from = request.operand_shape(0);
  const Shape& to = request.node->shape();
  for (int64_t axis = 0; attrs.antialias && axis < from.rank(); ++axis) {
    const ResizeAxis one = AxisOf(attrs, axis, from[axis], to[axis]);
    const float reach = ReachOf(attrs, one, std::min(one.scale, 1.0f));
    if (2.0 * static_cast<double>(reach) * static_cast<double>(to[axis]) > kMostTaps) {
      return absl::ResourceExhaustedError(
          absl::StrCat("axis ", axis, " from ", from[axis], " to ", to[axis], " elements by ",
                       one.scale, " needs a filter of ", reach, " elements to each side"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

KernelOr MakeResize(const KernelRequest& request) {
  const DType dtype = request.node->type().dtype;
  if (request.operand_shape(0).elements() == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  if (absl::Status status = CheckTaps(request); !status.ok()) {
    return status;
  }
  std::vector<ResizeStep> steps = StepsOf(request);
  const auto& attrs = request.node->attrs<ResizeAttrs>();
  const float outside = attrs.extrapolation_value;
  if (attrs.mode == ResizeMode::kNearest && dtype != DType::kFloat32) {
    if (attrs.transform_mode == "tf_crop_and_resize") {
      return absl::UnimplementedError(
          absl::StrCat("no kernel for ", DTypeName(dtype), "; a region needs float32"));
    }
    return DispatchSize(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      return MakeSteps<T>(std::move(steps), [](const ResizeStep& step, const T* from, T* to) {
        RunNearest(step, from, to);
      });
    });
  }
  if (dtype != DType::kFloat32) {
    return absl::UnimplementedError(
        absl::StrCat("no kernel for ", DTypeName(dtype), "; interpolation needs float32"));
  }
  const bool nearest = attrs.mode == ResizeMode::kNearest;
  return MakeSteps<float>(std::move(steps),
                          [nearest, outside](const ResizeStep& step, const float* from, float* to) {
                            if (nearest) {
                              RunNearest(step, from, to);
                            } else {
                              RunInterpolation(step, from, to);
                            }
                            Extrapolate(step, outside, to);
                          });
}

}  // namespace qb::execute
