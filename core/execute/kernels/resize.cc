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

// The operand's coordinate of result position `i`. In float, as ONNX Runtime computes it: ties of
// the nearest modes depend on the rounding. Source: ONNX Resize, coordinate_transformation_mode.
float SourceCoordinate(const std::string& transform, int64_t i, float scale, int64_t from,
                       int64_t to) {
  const float x = static_cast<float>(i);
  if (transform == "asymmetric") {
    return x / scale;
  }
  if (transform == "align_corners") {
    return to == 1 ? 0.0f : x * static_cast<float>(from - 1) / static_cast<float>(to - 1);
  }
  if (transform == "pytorch_half_pixel" && to == 1) {
    return 0.0f;
  }
  return (x + 0.5f) / scale - 0.5f;
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
};

void AppendLinear(float x, int64_t from, AxisTaps& out) {
  const float bounded = std::clamp(x, 0.0f, static_cast<float>(from - 1));
  const int64_t below = static_cast<int64_t>(bounded);
  const float fraction = bounded - static_cast<float>(below);
  out.index.insert(out.index.end(), {below, std::min(below + 1, from - 1)});
  out.weight.insert(out.weight.end(), {1.0f - fraction, fraction});
}

// Keys' cubic convolution. Source: ONNX Resize, cubic_coeff_a.
void AppendCubic(float x, int64_t from, float a, AxisTaps& out) {
  const float below = std::floor(x);
  const float t = x - below;
  const auto near = [a](float d) { return ((a + 2.0f) * d - (a + 3.0f)) * d * d + 1.0f; };
  const auto far = [a](float d) { return ((a * d - 5.0f * a) * d + 8.0f * a) * d - 4.0f * a; };
  for (int64_t k = -1; k <= 2; ++k) {
    out.index.push_back(std::clamp<int64_t>(static_cast<int64_t>(below) + k, 0, from - 1));
  }
  out.weight.insert(out.weight.end(), {far(t + 1.0f), near(t), near(1.0f - t), far(2.0f - t)});
}

AxisTaps TapsOf(const ResizeAttrs& attrs, int64_t axis, int64_t from, int64_t to) {
  AxisTaps taps;
  taps.taps = attrs.mode == ResizeMode::kNearest ? 1 : attrs.mode == ResizeMode::kLinear ? 2 : 4;
  const float scale = static_cast<size_t>(axis) < attrs.scales.size()
                          ? attrs.scales[static_cast<size_t>(axis)]
                          : static_cast<float>(to) / static_cast<float>(from);
  for (int64_t i = 0; i < to; ++i) {
    float x = SourceCoordinate(attrs.transform_mode, i, scale, from, to);
    // Far outside only with absurd scales; keeps the conversion to integers defined.
    x = std::clamp(x, -4.0f, static_cast<float>(from) + 4.0f);
    if (attrs.mode == ResizeMode::kNearest) {
      taps.index.push_back(std::clamp<int64_t>(NearestIndex(attrs.nearest_mode, x), 0, from - 1));
      taps.weight.push_back(1.0f);
    } else if (attrs.mode == ResizeMode::kLinear) {
      AppendLinear(x, from, taps);
    } else {
      AppendCubic(x, from, attrs.cubic_coeff_a, taps);
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

std::vector<ResizeStep> StepsOf(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<ResizeAttrs>();
  Shape shape = request.operand_shape(0);
  const Shape& result = request.node->shape();
  std::vector<ResizeStep> steps;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const bool scaled = static_cast<size_t>(axis) < attrs.scales.size() &&
                        attrs.scales[static_cast<size_t>(axis)] != 1.0f;
    if (shape[axis] == result[axis] && !scaled) {
      continue;
    }
    steps.push_back({ViewAlong(shape, axis), TapsOf(attrs, axis, shape[axis], result[axis])});
    shape[axis] = result[axis];
  }
  if (steps.empty()) {  // a copy, written as a nearest step of one row
    steps.push_back({{1, 1, shape.elements()}, {1, {0}, {1.0f}}});
  }
  return steps;
}

}  // namespace

KernelOr MakeResize(const KernelRequest& request) {
  const DType dtype = request.node->type().dtype;
  if (request.operand_shape(0).elements() == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  std::vector<ResizeStep> steps = StepsOf(request);
  if (request.node->attrs<ResizeAttrs>().mode == ResizeMode::kNearest) {
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
  return MakeSteps<float>(std::move(steps), [](const ResizeStep& step, const float* from,
                                               float* to) { RunInterpolation(step, from, to); });
}

}  // namespace qb::execute
