// The operators of movement.h that resample or rearrange images.
#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/ops/movement.h"
#include "core/ops/window.h"

namespace qb {
namespace {

constexpr std::array<absl::string_view, 7> kTransformModes = {
    "half_pixel",    "half_pixel_symmetric", "pytorch_half_pixel",  "asymmetric",
    "align_corners", "tf_crop_and_resize",   "tf_half_pixel_for_nn"};
constexpr std::array<absl::string_view, 4> kNearestModes = {"round_prefer_floor",
                                                            "round_prefer_ceil", "floor", "ceil"};

absl::Status CheckOneOf(absl::string_view what, absl::string_view value,
                        absl::Span<const absl::string_view> accepted) {
  for (const absl::string_view candidate : accepted) {
    if (candidate == value) {
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " is '", value, "'; accepted: ", absl::StrJoin(accepted, ", ")));
}

absl::Status CheckImage(const InferenceInput& input, int64_t block_size) {
  // The largest block keeps its square and every product below within int64.
  constexpr int64_t kMostBlock = 1 << 16;
  if (input.shape(0).rank() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", input.type(0).ToString(), "; accepted: rank 4"));
  }
  if (block_size < 1 || block_size > kMostBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat("block_size is ", block_size, "; accepted: 1 to ", kMostBlock));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorType> InferResize(const InferenceInput& input) {
  const auto& attrs = input.attributes<ResizeAttrs>();
  QB_RETURN_IF_ERROR(CheckOneOf("transform_mode", attrs.transform_mode, kTransformModes));
  QB_RETURN_IF_ERROR(CheckOneOf("nearest_mode", attrs.nearest_mode, kNearestModes));
  const TensorType& type = input.type(0);
  const size_t rank = static_cast<size_t>(type.shape.rank());
  if (attrs.sizes.size() != rank || attrs.scales.size() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes and scales have ", attrs.sizes.size(), " and ", attrs.scales.size(),
                     " entries; accepted: one an axis of ", type.ToString()));
  }
  QB_RETURN_IF_ERROR(CheckedElements(attrs.sizes).status());
  for (size_t i = 0; i < rank; ++i) {
    const float scale = attrs.scales[i];
    if (!(scale > 0.0f) || std::isinf(scale) ||
        (type.shape.dims()[i] == 0) != (attrs.sizes[i] == 0)) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", i, " of ", type.ToString(),
                                                     " is resized to ", attrs.sizes[i], " by ",
                                                     scale, "; accepted: a factor above 0"));
    }
  }
  if (!std::isfinite(attrs.cubic_coeff_a)) {
    return absl::InvalidArgumentError("cubic_coeff_a is not finite");
  }
  const bool finite = std::all_of(attrs.roi.begin(), attrs.roi.end(),
                                  [](float share) { return std::isfinite(share); });
  if (!finite || (!attrs.roi.empty() && attrs.roi.size() != 2 * rank)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "roi has ", attrs.roi.size(), " entries or one that is not finite; accepted: ", 2 * rank,
        " numbers or none"));
  }
  return TensorType{type.dtype, Shape(attrs.sizes)};
}

bool IsPlainResize(const ResizeAttrs& attrs) {
  return !attrs.exclude_outside && !attrs.antialias && attrs.transform_mode != "tf_crop_and_resize";
}

absl::StatusOr<TensorType> InferDepthToSpace(const InferenceInput& input) {
  const auto& attrs = input.attributes<DepthSpaceAttrs>();
  const int64_t block = attrs.block_size;
  QB_RETURN_IF_ERROR(CheckImage(input, block));
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  TensorType type = input.type(0);
  if (type.shape[axes.channel] % (block * block) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        type.shape[axes.channel], " channels; accepted: a multiple of ", block * block));
  }
  type.shape[axes.channel] /= block * block;
  type.shape[axes.height] *= block;
  type.shape[axes.width] *= block;
  return type;
}

absl::StatusOr<TensorType> InferSpaceToDepth(const InferenceInput& input) {
  const auto& attrs = input.attributes<DepthSpaceAttrs>();
  const int64_t block = attrs.block_size;
  QB_RETURN_IF_ERROR(CheckImage(input, block));
  if (attrs.order != DepthOrder::kDcr) {
    return absl::InvalidArgumentError("order is 'crd'; accepted: 'dcr'");
  }
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  TensorType type = input.type(0);
  if (type.shape[axes.height] % block != 0 || type.shape[axes.width] % block != 0) {
    return absl::InvalidArgumentError(absl::StrCat("an image of ", type.shape[axes.height], "x",
                                                   type.shape[axes.width],
                                                   "; accepted: multiples of ", block));
  }
  type.shape[axes.channel] *= block * block;
  type.shape[axes.height] /= block;
  type.shape[axes.width] /= block;
  return type;
}

}  // namespace qb
