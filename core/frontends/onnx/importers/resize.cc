// Resize (opset 10 and newer) and Upsample (7 to 9).
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

// Elements of one axis; products of it and float arithmetic stay exact enough and far from
// overflow.
constexpr double kLargestSize = 1e9;

absl::Status NotSupported(absl::string_view name, absl::string_view value) {
  return absl::UnimplementedError(
      absl::StrCat(name, " '", value.substr(0, 64), "' is not supported"));
}

absl::StatusOr<ResizeMode> ReadMode(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const std::string mode, node.StringAttr("mode", "nearest"));
  if (mode == "nearest") {
    return ResizeMode::kNearest;
  }
  if (mode == "linear" || mode == "bilinear") {
    return ResizeMode::kLinear;
  }
  if (mode == "cubic" && node.opset() >= 11) {
    return ResizeMode::kCubic;
  }
  return NotSupported("mode", mode);
}

// Result dimensions of floor(dimension * scale).
absl::Status SetScales(const Shape& input, const std::vector<float>& scales, ResizeAttrs& attrs) {
  if (static_cast<int64_t>(scales.size()) != input.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("scales has ", scales.size(), " elements for an input of ", input.ToString()));
  }
  attrs.scales = scales;
  attrs.sizes.clear();
  for (int64_t axis = 0; axis < input.rank(); ++axis) {
    const float scale = scales[static_cast<size_t>(axis)];
    const float size = std::floor(static_cast<float>(input[axis]) * scale);
    if (!(scale > 0.0f) || !(size < kLargestSize)) {
      return absl::InvalidArgumentError(absl::StrCat("scales is [", absl::StrJoin(scales, ", "),
                                                     "] for an input of ", input.ToString()));
    }
    attrs.sizes.push_back(static_cast<int64_t>(size));
  }
  return absl::OkStatus();
}

// Sizes as given, or with the aspect ratio kept. Source: ONNX Resize, keep_aspect_ratio_policy.
absl::StatusOr<std::vector<int64_t>> FitSizes(NodeImporter& node, const Shape& input,
                                              const std::vector<int64_t>& axes,
                                              std::vector<int64_t> sizes) {
  std::string policy = "stretch";
  if (node.opset() >= 18) {
    QB_ASSIGN_OR_RETURN(policy, node.StringAttr("keep_aspect_ratio_policy", "stretch"));
  }
  if (policy == "stretch") {
    return sizes;
  }
  if (policy != "not_larger" && policy != "not_smaller") {
    return NotSupported("keep_aspect_ratio_policy", policy);
  }
  double scale = 0.0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const double ratio =
        static_cast<double>(sizes[i]) / static_cast<double>(std::max<int64_t>(input[axes[i]], 1));
    const bool better = policy == "not_larger" ? ratio < scale : ratio > scale;
    scale = i == 0 || better ? ratio : scale;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const double size = std::floor(scale * static_cast<double>(input[axes[i]]) + 0.5);
    if (!(size < kLargestSize)) {
      return absl::InvalidArgumentError(absl::StrCat("sizes with keep_aspect_ratio_policy '",
                                                     policy, "' give an axis of ", size));
    }
    sizes[i] = static_cast<int64_t>(size);
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> ReadAxes(NodeImporter& node, int64_t rank) {
  std::vector<int64_t> axes;
  if (node.opset() >= 18) {
    QB_ASSIGN_OR_RETURN(axes, node.IntsAttr("axes"));
  }
  if (axes.empty()) {
    for (int64_t axis = 0; axis < rank; ++axis) {
      axes.push_back(axis);
    }
  }
  return NormalizedAxes(axes, rank);
}

absl::StatusOr<bool> IsEmptyInput(NodeImporter& node, int64_t index) {
  if (!node.HasInput(index)) {
    return true;
  }
  QB_ASSIGN_OR_RETURN(const Tensor value, node.ConstantInput(index, "scales or sizes"));
  return value.elements() == 0;
}

// Inputs 2 (scales) and 3 (sizes): exactly one of them is there.
absl::Status ReadTargetSize(NodeImporter& node, const Shape& input, ResizeAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadAxes(node, input.rank()));
  QB_ASSIGN_OR_RETURN(const bool no_scales, IsEmptyInput(node, 2));
  QB_ASSIGN_OR_RETURN(const bool no_sizes, IsEmptyInput(node, 3));
  if (no_scales == no_sizes) {
    return absl::InvalidArgumentError("exactly one of scales and sizes has to be given");
  }
  if (!no_scales) {
    QB_ASSIGN_OR_RETURN(const std::vector<float> given, node.FloatsInput(2, "scales"));
    if (given.size() != axes.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("scales has ", given.size(), " elements for ", axes.size(), " axes"));
    }
    std::vector<float> scales(static_cast<size_t>(input.rank()), 1.0f);
    for (size_t i = 0; i < axes.size(); ++i) {
      scales[static_cast<size_t>(axes[i])] = given[i];
    }
    if (node.opset() >= 18) {
      node.IgnoreAttr("keep_aspect_ratio_policy");  // counts for sizes only
    }
    return SetScales(input, scales, attrs);
  }
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> given, node.IntsInput(3, "sizes"));
  if (given.size() != axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("sizes has ", given.size(), " elements for ", axes.size(), " axes"));
  }
  QB_RETURN_IF_ERROR(CheckedElements(given).status());
  QB_ASSIGN_OR_RETURN(given, FitSizes(node, input, axes, std::move(given)));
  attrs.sizes = input.dims();
  attrs.scales.assign(attrs.sizes.size(), 1.0f);
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i]);
    attrs.sizes[axis] = given[i];
    if (input[axes[i]] > 0) {
      attrs.scales[axis] = static_cast<float>(given[i]) / static_cast<float>(input[axes[i]]);
    }
  }
  return absl::OkStatus();
}

// tf_crop_and_resize: the region of all axes.
absl::Status ReadRegion(NodeImporter& node, const Shape& input, ResizeAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(const std::vector<float> given, node.FloatsInput(1, "roi"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, ReadAxes(node, input.rank()));
  if (given.size() != 2 * axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("roi has ", given.size(), " elements for ", axes.size(), " axes"));
  }
  const auto rank = static_cast<size_t>(input.rank());
  attrs.roi.assign(2 * rank, 0.0f);
  std::fill(attrs.roi.begin() + static_cast<int64_t>(rank), attrs.roi.end(), 1.0f);
  for (size_t i = 0; i < axes.size(); ++i) {
    attrs.roi[static_cast<size_t>(axes[i])] = given[i];
    attrs.roi[rank + static_cast<size_t>(axes[i])] = given[axes.size() + i];
  }
  QB_ASSIGN_OR_RETURN(const bool no_scales, IsEmptyInput(node, 2));
  for (size_t i = 0; i < rank && !no_scales; ++i) {  // scales are of the region, not of the whole
    const float share = attrs.roi[rank + i] - attrs.roi[i];
    const float size = std::floor(static_cast<float>(input.dims()[i]) * share * attrs.scales[i]);
    if (!(size >= 0.0f) || !(size < kLargestSize)) {
      return absl::InvalidArgumentError(absl::StrCat("the region gives an axis of ", size));
    }
    attrs.sizes[i] = static_cast<int64_t>(size);
  }
  return absl::OkStatus();
}

absl::Status ReadTransform(NodeImporter& node, const Shape& input, ResizeAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(attrs.transform_mode,
                      node.StringAttr("coordinate_transformation_mode", "half_pixel"));
  QB_ASSIGN_OR_RETURN(attrs.nearest_mode, node.StringAttr("nearest_mode", "round_prefer_floor"));
  if (attrs.transform_mode == "tf_crop_and_resize") {
    return ReadRegion(node, input, attrs);
  }
  if (attrs.transform_mode == "tf_half_pixel_for_nn" && attrs.mode == ResizeMode::kNearest &&
      attrs.nearest_mode == "floor") {
    // floor((x + 0.5) / scale) is half_pixel rounded half up; its other uses are not.
    attrs.transform_mode = "half_pixel";
    attrs.nearest_mode = "round_prefer_ceil";
  }
  return absl::OkStatus();
}

absl::Status ReadFilter(NodeImporter& node, ResizeAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(attrs.cubic_coeff_a, node.FloatAttr("cubic_coeff_a", -0.75f));
  QB_ASSIGN_OR_RETURN(const bool exclude_outside, node.BoolAttr("exclude_outside", false));
  QB_ASSIGN_OR_RETURN(attrs.extrapolation_value, node.FloatAttr("extrapolation_value", 0.0f));
  attrs.exclude_outside = exclude_outside && attrs.mode == ResizeMode::kCubic;
  if (node.opset() >= 18) {
    QB_ASSIGN_OR_RETURN(attrs.antialias, node.BoolAttr("antialias", false));
  }
  // Nothing shrinks or nothing is interpolated: the graph has one spelling for that.
  const bool shrinks = std::any_of(attrs.scales.begin(), attrs.scales.end(),
                                   [](float scale) { return scale < 1.0f; });
  attrs.antialias = attrs.antialias && shrinks && attrs.mode != ResizeMode::kNearest;
  return absl::OkStatus();
}

// Upsample, and Resize of opset 10: position / scale, rounded down when an axis grows and up when
// it shrinks (as ONNX Runtime reads the early, vague text).
absl::Status ImportEarlyForm(NodeImporter& node, Node* input, const std::vector<float>& scales) {
  ResizeAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.mode, ReadMode(node));
  QB_RETURN_IF_ERROR(SetScales(input->shape(), scales, attrs));
  attrs.transform_mode = "asymmetric";
  const auto [least, most] = std::minmax_element(scales.begin(), scales.end());
  const bool shrinks = least != scales.end() && *least < 1.0f;
  if (shrinks && *most > 1.0f && attrs.mode == ResizeMode::kNearest) {
    return absl::UnimplementedError(
        "the nearest form that enlarges one axis and shrinks another is not supported");
  }
  attrs.nearest_mode = shrinks ? "ceil" : "floor";
  return node.Finish(node.Add("", OpKind::kResize, {input}, std::move(attrs)));
}

}  // namespace

absl::Status ImportUpsample(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  std::vector<float> scales;
  if (node.opset() < 9) {
    QB_ASSIGN_OR_RETURN(scales, node.FloatsAttr("scales"));
  } else {
    QB_ASSIGN_OR_RETURN(scales, node.FloatsInput(1, "scales"));
  }
  return ImportEarlyForm(node, input, scales);
}

absl::Status ImportResize(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  if (node.opset() == 10) {
    QB_ASSIGN_OR_RETURN(const std::vector<float> scales, node.FloatsInput(1, "scales"));
    return ImportEarlyForm(node, input, scales);
  }
  node.IgnoreInput(1);  // roi: counts for tf_crop_and_resize only
  ResizeAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.mode, ReadMode(node));
  QB_RETURN_IF_ERROR(ReadTargetSize(node, input->shape(), attrs));
  QB_RETURN_IF_ERROR(ReadTransform(node, input->shape(), attrs));
  QB_RETURN_IF_ERROR(ReadFilter(node, attrs));
  return node.Finish(node.Add("", OpKind::kResize, {input}, std::move(attrs)));
}

}  // namespace qb::onnx_import
