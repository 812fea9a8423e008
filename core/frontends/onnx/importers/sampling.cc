// GridSample, AffineGrid, RoiAlign, MaxUnpool, Det.
#include "core/ops/sampling.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"
#include "core/frontends/onnx/onnx_model.h"
#include "core/frontends/onnx/scalar_values.h"
#include "core/ops/indexing.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

// Rows of homogeneous coordinates, one for each place of the result, as AffineGrid wants them.
Tensor BaseGrid(const std::vector<int64_t>& sizes, bool align_corners, DType dtype) {
  const auto axes = static_cast<int64_t>(sizes.size());
  const Shape places(sizes);
  const std::vector<int64_t> strides = places.strides();
  std::vector<double> values;
  for (int64_t p = 0; p < places.elements(); ++p) {
    for (int64_t d = axes - 1; d >= 0; --d) {  // the last axis first
      const auto size = static_cast<double>(places[d]);
      const auto at = static_cast<double>(p / strides[static_cast<size_t>(d)] % places[d]);
      const double corner = size > 1.0 ? 2.0 * at / (size - 1.0) - 1.0 : -1.0;
      values.push_back(align_corners ? corner : (2.0 * at + 1.0) / size - 1.0);
    }
    values.push_back(1.0);
  }
  return TensorOfDoubles(dtype, Shape{places.elements(), axes + 1}, values);
}

// The result's size before any output_shape. Source: ONNX MaxUnpool.
std::vector<int64_t> UnpooledDims(const Shape& input, const Window& window) {
  std::vector<int64_t> dims = input.dims();
  for (size_t i = 2; i < dims.size(); ++i) {
    const size_t axis = Window::kAxes - dims.size() + i;
    dims[i] = (dims[i] - 1) * window.stride[axis] + window.kernel[axis] - window.begin[axis] -
              window.end[axis];
  }
  return dims;
}

}  // namespace

absl::Status ImportGridSample(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * grid, node.Input(1, "grid"));
  QB_ASSIGN_OR_RETURN(std::string mode,
                      node.StringAttr("mode", node.opset() < 20 ? "bilinear" : "linear"));
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  QB_ASSIGN_OR_RETURN(const std::string padding, node.StringAttr("padding_mode", "zeros"));
  GridSampleAttrs attrs;
  QB_RETURN_IF_ERROR(attrs.Set("mode", mode));
  QB_RETURN_IF_ERROR(attrs.Set("padding_mode", padding));
  QB_ASSIGN_OR_RETURN(attrs.align_corners, node.BoolAttr("align_corners", false));
  return node.Finish(node.Add("", OpKind::kGridSample, {x, grid}, std::move(attrs)));
}

// The base grid times the transposed matrices theta [N, k, k + 1].
absl::Status ImportAffineGrid(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * theta, node.Input(0, "theta"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> size, node.IntsInput(1, "size"));
  QB_ASSIGN_OR_RETURN(const bool align_corners, node.BoolAttr("align_corners", false));
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  const DType dtype = theta->type().dtype;
  QB_ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(size));
  if (axes < 2 || axes > 3 || !IsFloat(dtype) || elements > kMostFoldedBytes / 64 ||
      theta->shape() != Shape({size[0], axes, axes + 1})) {
    return absl::InvalidArgumentError(
        absl::StrCat("theta is ", theta->type().ToString(), " for a size of rank ", size.size(),
                     "; [N, 2, 3] with rank 4 and [N, 3, 4] with rank 5 are accepted"));
  }
  const std::vector<int64_t> sizes(size.begin() + 2, size.end());
  QB_ASSIGN_OR_RETURN(Node * base, node.AddConstant("base", BaseGrid(sizes, align_corners, dtype)));
  QB_ASSIGN_OR_RETURN(Node * matrices, node.AddTranspose("matrices", theta, {0, 2, 1}));
  QB_ASSIGN_OR_RETURN(Node * places, node.Add("places", OpKind::kMatMul, {base, matrices}));
  std::vector<int64_t> dims = {size[0]};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  dims.push_back(axes);
  return node.Finish(node.AddReshape("", places, Shape(std::move(dims))));
}

absl::Status ImportRoiAlign(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * rois, node.Input(1, "rois"));
  QB_ASSIGN_OR_RETURN(Node * batch, node.Input(2, "batch_indices"));
  QB_ASSIGN_OR_RETURN(const std::string mode, node.StringAttr("mode", "avg"));
  if (mode != "avg" && mode != "max") {
    return absl::InvalidArgumentError(
        absl::StrCat("mode is '", mode, "'; avg and max are accepted"));
  }
  RoiAlignAttrs attrs;
  attrs.pool_type = mode == "avg" ? PoolType::kAverage : PoolType::kMax;
  QB_ASSIGN_OR_RETURN(attrs.output_height, node.IntAttr("output_height", 1));
  QB_ASSIGN_OR_RETURN(attrs.output_width, node.IntAttr("output_width", 1));
  QB_ASSIGN_OR_RETURN(attrs.sampling_ratio, node.IntAttr("sampling_ratio", 0));
  QB_ASSIGN_OR_RETURN(attrs.spatial_scale, node.FloatAttr("spatial_scale", 1.0f));
  attrs.half_pixel = false;
  if (node.opset() >= 16) {
    QB_ASSIGN_OR_RETURN(const std::string transform,
                        node.StringAttr("coordinate_transformation_mode", "half_pixel"));
    if (transform != "half_pixel" && transform != "output_half_pixel") {
      return absl::InvalidArgumentError(
          absl::StrCat("coordinate_transformation_mode is '", transform,
                       "'; half_pixel and output_half_pixel are accepted"));
    }
    attrs.half_pixel = transform == "half_pixel";
  }
  return node.Finish(node.Add("", OpKind::kRoiAlign, {x, rois, batch}, std::move(attrs)));
}

// Zeros with the values at the places that a MaxPool named.
absl::Status ImportMaxUnpool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(1, "I"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, node.IntsAttr("kernel_shape"));
  if (indices->shape() != x->shape()) {
    return absl::InvalidArgumentError(absl::StrCat("the input is ", x->shape().ToString(),
                                                   " and the indices ", indices->shape().ToString(),
                                                   "; equal shapes are accepted"));
  }
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, x->shape(), kernel));
  std::vector<int64_t> dims = UnpooledDims(x->shape(), window);
  QB_ASSIGN_OR_RETURN(const int64_t inferred, CheckedElements(dims));
  std::vector<int64_t> result = dims;
  if (node.HasInput(2)) {
    QB_ASSIGN_OR_RETURN(result, node.IntsInput(2, "output_shape"));
  }
  if (result.size() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output_shape has ", result.size(), " elements for an input of ", x->shape().ToString()));
  }
  QB_RETURN_IF_ERROR(CheckedElements(result).status());
  const int64_t count = x->shape().elements();
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", x->type().dtype, 0.0));
  ExpandAttrs expand;
  expand.shape = {inferred};
  QB_ASSIGN_OR_RETURN(Node * zeros, node.Add("zeros", OpKind::kExpand, {zero}, std::move(expand)));
  QB_ASSIGN_OR_RETURN(Node * places, node.AddReshape("places", indices, {count}));
  QB_ASSIGN_OR_RETURN(Node * values, node.AddReshape("values", x, {count}));
  QB_ASSIGN_OR_RETURN(Node * flat, node.Add("flat", OpKind::kScatterElements,
                                            {zeros, places, values}, ScatterElementsAttrs()));
  if (result == dims) {
    return node.Finish(node.AddReshape("", flat, Shape(dims)));
  }
  // A larger result keeps the places of the inferred one; the rest is 0 behind each axis.
  QB_ASSIGN_OR_RETURN(Node * inner, node.AddReshape("inferred", flat, Shape(dims)));
  PadAttrs pad;
  pad.padding_list.assign(2 * dims.size(), 0);
  for (size_t d = 0; d < dims.size(); ++d) {
    pad.padding_list[dims.size() + d] = result[d] - dims[d];
  }
  return node.Finish(node.Add("", OpKind::kPad, {inner}, std::move(pad)));
}

absl::Status ImportDet(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  return node.Finish(node.Add("", OpKind::kDet, {input}));
}

}  // namespace qb::onnx_import
