// CenterCropPad and Col2Im.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"
#include "core/ops/indexing.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

// One spatial axis of an image that was cut into windows.
struct PatchAxis {
  int64_t image, block, dilation, begin, end, stride;

  int64_t padded() const { return image + begin + end; }
  int64_t windows() const { return (padded() - dilation * (block - 1) - 1) / stride + 1; }
};

absl::StatusOr<std::vector<int64_t>> ListOr(NodeImporter& node, absl::string_view name,
                                            size_t count, int64_t value) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> values, node.IntsAttr(name));
  if (values.empty()) {
    values.assign(count, value);
  }
  if (values.size() != count || std::any_of(values.begin(), values.end(),
                                            [&](int64_t v) { return v < value || v > 65536; })) {
    return absl::InvalidArgumentError(absl::StrCat("attribute '", name, "' has ", values.size(),
                                                   " elements or one out of range; ", count,
                                                   " from ", value, " to 65536 are accepted"));
  }
  return values;
}

absl::StatusOr<std::vector<PatchAxis>> ReadPatches(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> image, node.IntsInput(1, "image_shape"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> block, node.IntsInput(2, "block_shape"));
  const size_t count = image.size();
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations, ListOr(node, "dilations", count, 1));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ListOr(node, "strides", count, 1));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, ListOr(node, "pads", 2 * count, 0));
  std::vector<PatchAxis> axes;
  for (size_t i = 0; i < count && block.size() == count; ++i) {
    axes.push_back({image[i], block[i], dilations[i], pads[i], pads[count + i], strides[i]});
    const PatchAxis& axis = axes.back();
    if (axis.image < 1 || axis.image > 65536 || axis.block < 1 ||
        axis.padded() < axis.dilation * (axis.block - 1) + 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("an image of ", axis.image, " in windows of ", axis.block));
    }
  }
  if (axes.empty() || axes.size() > 3) {
    return absl::InvalidArgumentError(absl::StrCat("image_shape has ", count, " and block_shape ",
                                                   block.size(),
                                                   " elements; 1 to 3 of both are accepted"));
  }
  return axes;
}

// For each element of a column matrix [block elements, windows] its place in the padded image.
std::vector<int64_t> PlacesOf(const std::vector<PatchAxis>& axes, int64_t blocks, int64_t windows) {
  std::vector<int64_t> places;
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t w = 0; w < windows; ++w) {
      int64_t place = 0;
      int64_t stride = 1;
      int64_t b_rest = b;
      int64_t w_rest = w;
      for (size_t d = axes.size(); d-- > 0;) {
        const PatchAxis& axis = axes[d];
        place +=
            (b_rest % axis.block * axis.dilation + w_rest % axis.windows() * axis.stride) * stride;
        stride *= axis.padded();
        b_rest /= axis.block;
        w_rest /= axis.windows();
      }
      places.push_back(place);
    }
  }
  return places;
}

}  // namespace

absl::Status ImportCenterCropPad(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input_data"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> target, node.IntsInput(1, "shape"));
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.IntsAttr("axes"));
  const Shape& shape = input->shape();
  for (int64_t axis = 0; axes.size() < target.size() && axis < shape.rank(); ++axis) {
    axes.push_back(axis);
  }
  QB_ASSIGN_OR_RETURN(axes, NormalizedAxes(axes, shape.rank()));
  if (axes.size() != target.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shape has ", target.size(), " elements for ", axes.size(), " axes"));
  }
  PadAttrs attrs;
  attrs.padding_list.assign(static_cast<size_t>(2 * shape.rank()), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t missing = target[i] - shape[axes[i]];
    // The odd one: a crop takes it from the end, a padding puts it there.
    const int64_t before = missing < 0 ? -(-missing / 2) : missing / 2;
    attrs.padding_list[static_cast<size_t>(axes[i])] = before;
    attrs.padding_list[static_cast<size_t>(axes[i] + shape.rank())] = missing - before;
  }
  return node.Finish(node.Add("", OpKind::kPad, {input}, std::move(attrs)));
}

// Sums the elements of the columns at their places in the padded image, then cuts the padding off.
absl::Status ImportCol2Im(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const std::vector<PatchAxis> axes, ReadPatches(node));
  int64_t blocks = 1, windows = 1, pixels = 1;
  for (const PatchAxis& axis : axes) {
    blocks *= axis.block;
    windows *= axis.windows();
    pixels *= axis.padded();
  }
  const Shape& shape = input->shape();
  if (shape.rank() != 3 || shape[2] != windows || shape[1] % blocks != 0 ||
      shape.elements() > kMostFoldedBytes / 8) {
    return absl::InvalidArgumentError(absl::StrCat("the input has shape ", shape.ToString(),
                                                   " for windows of ", blocks, " elements at ",
                                                   windows, " places"));
  }
  const int64_t planes = shape[0] * (shape[1] / blocks);
  QB_ASSIGN_OR_RETURN(Node * columns,
                      node.AddReshape("columns", input, {planes, blocks * windows}));
  QB_ASSIGN_OR_RETURN(
      Node * places, node.AddConstant("places", Tensor::OfInt64s(Shape{1, blocks * windows},
                                                                 PlacesOf(axes, blocks, windows))));
  ExpandAttrs every;
  every.shape = {planes, blocks * windows};
  QB_ASSIGN_OR_RETURN(places, node.Add("all_places", OpKind::kExpand, {places}, std::move(every)));
  QB_ASSIGN_OR_RETURN(Node * zero, node.AddScalar("zero", input->type().dtype, 0.0));
  ExpandAttrs empty;
  empty.shape = {planes, pixels};
  QB_ASSIGN_OR_RETURN(Node * image, node.Add("empty", OpKind::kExpand, {zero}, std::move(empty)));
  ScatterElementsAttrs add;
  add.axis = 1;
  add.reduction = ScatterReduction::kAdd;
  QB_ASSIGN_OR_RETURN(
      image, node.Add("sums", OpKind::kScatterElements, {image, places, columns}, std::move(add)));
  std::vector<int64_t> dims = {shape[0], shape[1] / blocks};
  PadAttrs crop;
  crop.padding_list.assign(2 * (axes.size() + 2), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    dims.push_back(axes[i].padded());
    crop.padding_list[i + 2] = -axes[i].begin;
    crop.padding_list[axes.size() + 4 + i] = -axes[i].end;
  }
  QB_ASSIGN_OR_RETURN(image, node.AddReshape("padded", image, Shape(std::move(dims))));
  return node.Finish(node.Add("", OpKind::kPad, {image}, std::move(crop)));
}

}  // namespace qb::onnx_import
