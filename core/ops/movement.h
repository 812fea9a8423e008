// Operators that move elements and compute nothing.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/ops/op_def.h"

namespace qb {

// To `new_shape`: all dimensions given and positive or zero, as many elements as the operand.
struct ReshapeAttrs final : AttributesOf<ReshapeAttrs> {
  std::vector<int64_t> new_shape;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("new_shape", self.new_shape);
  }
};

// Result dimension i is the operand's dimension transpose_axes[i].
struct TransposeAttrs final : AttributesOf<TransposeAttrs> {
  std::vector<int64_t> transpose_axes;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("transpose_axes", self.transpose_axes);
  }
};

// One or more operands along `axis` (>= 0).
struct ConcatenateAttrs final : AttributesOf<ConcatenateAttrs> {
  int64_t axis = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
  }
};

// Elements start, start + step, ... of each listed axis (axes >= 0, unique). Normalized: step != 0;
// with step > 0: 0 <= start <= end <= dim; with step < 0: -1 <= end <= start < dim (end exclusive).
struct SliceAttrs final : AttributesOf<SliceAttrs> {
  std::vector<int64_t> axis, start, end, step;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
    visit("start", self.start);
    visit("end", self.end);
    visit("step", self.step);
  }
};

enum class PadMode { kConstant, kReflect, kEdge };

template <>
struct EnumNames<PadMode> {
  static constexpr auto kNames = std::to_array<std::pair<PadMode, const char*>>({
      {PadMode::kConstant, "constant"},
      {PadMode::kReflect, "reflect"},
      {PadMode::kEdge, "edge"},
  });
};

// padding_list: begins of all axes, then ends of all axes; negative entries crop.
struct PadAttrs final : AttributesOf<PadAttrs> {
  std::vector<int64_t> padding_list;
  PadMode pad_mode = PadMode::kConstant;
  float constant = 0.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("padding_list", self.padding_list);
    visit("pad_mode", self.pad_mode);
    visit("constant", self.constant);
  }
};

// Broadcast of the operand to `shape` (the result's shape).
struct ExpandAttrs final : AttributesOf<ExpandAttrs> {
  std::vector<int64_t> shape;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("shape", self.shape);
  }
};

// Operands: data, indices (int32 or int64; negative counts from the end) along `axis` (>= 0).
struct GatherAttrs final : AttributesOf<GatherAttrs> {
  int64_t axis = 0;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("axis", self.axis);
  }
};

enum class ResizeMode { kNearest, kLinear, kCubic };

template <>
struct EnumNames<ResizeMode> {
  static constexpr auto kNames = std::to_array<std::pair<ResizeMode, const char*>>({
      {ResizeMode::kNearest, "nearest"},
      {ResizeMode::kLinear, "linear"},
      {ResizeMode::kCubic, "cubic"},
  });
};

// Names of the coordinate transforms and rounding modes are those of ONNX Resize:
// transform_mode half_pixel, half_pixel_symmetric, pytorch_half_pixel, asymmetric, align_corners,
// tf_crop_and_resize, tf_half_pixel_for_nn;
// nearest_mode round_prefer_floor, round_prefer_ceil, floor, ceil.
// `sizes` is the whole result shape; `scales` has one factor per axis (result / operand as the
// model gave it: it enters the coordinate formula, so it is kept beside sizes).
struct ResizeAttrs final : AttributesOf<ResizeAttrs> {
  ResizeMode mode = ResizeMode::kNearest;
  std::string transform_mode = "half_pixel";
  std::string nearest_mode = "round_prefer_floor";
  std::vector<int64_t> sizes;
  std::vector<float> scales;
  float cubic_coeff_a = -0.75f;
  // Taps outside the operand count nothing; else they repeat its border.
  bool exclude_outside = false;
  // Where an axis shrinks, linear and cubic take so many taps that all elements count.
  bool antialias = false;
  // For tf_crop_and_resize: starts, then ends of the region along every axis, as shares of it (empty:
  // all), and the value of places outside the operand.
  std::vector<float> roi;
  float extrapolation_value = 0.0f;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("mode", self.mode);
    visit("transform_mode", self.transform_mode);
    visit("nearest_mode", self.nearest_mode);
    visit("sizes", self.sizes);
    visit("scales", self.scales);
    visit("cubic_coeff_a", self.cubic_coeff_a);
    visit("exclude_outside", self.exclude_outside);
    visit("antialias", self.antialias);
    visit("roi", self.roi);
    visit("extrapolation_value", self.extrapolation_value);
  }
};

// True when every result depends on the operand as plain nearest, linear or cubic interpolation says.
bool IsPlainResize(const ResizeAttrs& attrs);

enum class DepthOrder { kDcr, kCrd };

template <>
struct EnumNames<DepthOrder> {
  static constexpr auto kNames = std::to_array<std::pair<DepthOrder, const char*>>({
      {DepthOrder::kDcr, "dcr"},
      {DepthOrder::kCrd, "crd"},
  });
};

// DepthToSpace: [N, C, H, W] -> [N, C / b^2, H b, W b]; SpaceToDepth the other way round (kDcr
// only). channel_last: the same with C last. Source: ONNX DepthToSpace, SpaceToDepth.
struct DepthSpaceAttrs final : AttributesOf<DepthSpaceAttrs> {
  int64_t block_size = 1;
  DepthOrder order = DepthOrder::kDcr;
  bool channel_last = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("block_size", self.block_size);
    visit("order", self.order);
    visit("channel_last", self.channel_last);
  }
};

// The values of an int32 or int64 tensor of indices into an axis of `extent` elements; negative ones
// are counted from the front. Those out of range stay out of range.
std::vector<int64_t> IndexValues(const Tensor& indices, int64_t extent);

absl::StatusOr<TensorType> InferReshape(const InferenceInput& input);
absl::StatusOr<TensorType> InferTranspose(const InferenceInput& input);
absl::StatusOr<TensorType> InferConcatenate(const InferenceInput& input);
absl::StatusOr<TensorType> InferSlice(const InferenceInput& input);
absl::StatusOr<TensorType> InferPad(const InferenceInput& input);
absl::StatusOr<TensorType> InferExpand(const InferenceInput& input);
absl::StatusOr<TensorType> InferGather(const InferenceInput& input);
absl::StatusOr<TensorType> InferResize(const InferenceInput& input);
absl::StatusOr<TensorType> InferDepthToSpace(const InferenceInput& input);
absl::StatusOr<TensorType> InferSpaceToDepth(const InferenceInput& input);

}  // namespace qb
