// Operators that read an image at computed places, and the determinant.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/ops/op_def.h"
#include "core/ops/pooling.h"

namespace qb {

enum class SampleMode { kNearest, kLinear, kCubic };

template <>
struct EnumNames<SampleMode> {
  static constexpr auto kNames = std::to_array<std::pair<SampleMode, const char*>>({
      {SampleMode::kNearest, "nearest"},
      {SampleMode::kLinear, "linear"},
      {SampleMode::kCubic, "cubic"},
  });
};

enum class OutsideMode { kZeros, kBorder, kReflection };

template <>
struct EnumNames<OutsideMode> {
  static constexpr auto kNames = std::to_array<std::pair<OutsideMode, const char*>>({
      {OutsideMode::kZeros, "zeros"},
      {OutsideMode::kBorder, "border"},
      {OutsideMode::kReflection, "reflection"},
  });
};

// Operands: x [N, C, D1, ...], grid [N, G1, ..., k] with k spatial axes (2 or 3; cubic: 2), whose
// last axis names a place from -1 to 1 in each of them, the last spatial axis first -> [N, C, G1,
// ...]. Source: ONNX GridSample.
struct GridSampleAttrs final : AttributesOf<GridSampleAttrs> {
  SampleMode mode = SampleMode::kLinear;
  OutsideMode padding_mode = OutsideMode::kZeros;
  bool align_corners = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("mode", self.mode);
    visit("padding_mode", self.padding_mode);
    visit("align_corners", self.align_corners);
  }
};

// Operands: x [N, C, H, W], rois [R, 4] (x1, y1, x2, y2), batch_indices [R] -> [R, C,
// output_height, output_width]. sampling_ratio 0: as many samples a bin as it has pixels.
// half_pixel: pixel centres lie at half coordinates. Source: ONNX RoiAlign.
struct RoiAlignAttrs final : AttributesOf<RoiAlignAttrs> {
  PoolType pool_type = PoolType::kAverage;
  int64_t output_height = 1, output_width = 1;
  int64_t sampling_ratio = 0;
  float spatial_scale = 1.0f;
  bool half_pixel = true;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("pool_type", self.pool_type);
    visit("output_height", self.output_height);
    visit("output_width", self.output_width);
    visit("sampling_ratio", self.sampling_ratio);
    visit("spatial_scale", self.spatial_scale);
    visit("half_pixel", self.half_pixel);
  }
};

// Det (NoAttrs): [..., n, n] -> [...].

// PoolingIndices (PoolingAttrs of maximum pooling, channels not last): for each result the place of
// the chosen element in the whole operand, as int64.

absl::StatusOr<TensorType> InferGridSample(const InferenceInput& input);
absl::StatusOr<TensorType> InferRoiAlign(const InferenceInput& input);
absl::StatusOr<TensorType> InferDet(const InferenceInput& input);
absl::StatusOr<TensorType> InferPoolingIndices(const InferenceInput& input);

}  // namespace qb
