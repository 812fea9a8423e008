// Transpose, Pad, Gather, Expand, DepthToSpace, SpaceToDepth.
#include "core/ops/movement.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"
#include "core/frontends/onnx/scalar_values.h"

namespace qb::onnx_import {
namespace {

absl::StatusOr<bool> IsWrap(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const std::string mode, node.StringAttr("mode", "constant"));
  return mode == "wrap" && node.opset() >= 19;
}

absl::StatusOr<PadMode> ReadPadMode(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const std::string mode, node.StringAttr("mode", "constant"));
  if (mode == "constant") {
    return PadMode::kConstant;
  }
  if (mode == "reflect") {
    return PadMode::kReflect;
  }
  if (mode == "edge") {
    return PadMode::kEdge;
  }
  return absl::UnimplementedError(absl::StrCat(
      "mode '", mode.substr(0, 64), "' is not supported; constant, reflect and edge are"));
}

// Before opset 11 pads and value are attributes.
absl::Status ReadPadAttributes(NodeImporter& node, PadAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(attrs.padding_list, node.IntsAttr("pads"));
  QB_ASSIGN_OR_RETURN(attrs.constant, node.FloatAttr("value", 0.0f));
  return absl::OkStatus();
}

absl::StatusOr<float> PadValue(NodeImporter& node) {
  if (!node.HasInput(2)) {
    return 0.0f;
  }
  QB_ASSIGN_OR_RETURN(const Tensor value, node.ConstantInput(2, "constant_value"));
  if (value.elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("constant_value has ", value.elements(), " elements; one is accepted"));
  }
  const double number = DoublesOf(value).front();
  const auto single = static_cast<float>(number);
  if (IsInteger(value.dtype()) && static_cast<double>(single) != number) {
    return absl::UnimplementedError(
        absl::StrCat("constant_value ", number, " is not supported: it needs more than 24 bits"));
  }
  return single;
}

// From opset 11 pads, constant_value and (18) axes are inputs.
absl::Status ReadPadInputs(NodeImporter& node, int64_t rank, PadAttrs& attrs) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> pads, node.IntsInput(1, "pads"));
  QB_ASSIGN_OR_RETURN(attrs.constant, PadValue(node));
  if (node.opset() < 18 || !node.HasInput(3)) {
    attrs.padding_list = std::move(pads);
    return absl::OkStatus();
  }
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> given, node.IntsInput(3, "axes"));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizedAxes(given, rank));
  if (pads.size() != 2 * axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pads has ", pads.size(), " elements for ", axes.size(), " axes"));
  }
  attrs.padding_list.assign(2 * static_cast<size_t>(rank), 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    attrs.padding_list[static_cast<size_t>(axes[i])] = pads[i];
    attrs.padding_list[static_cast<size_t>(axes[i] + rank)] = pads[axes.size() + i];
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportTranspose(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  TransposeAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.transpose_axes, node.IntsAttr("perm"));
  if (!node.HasAttr("perm")) {
    attrs.transpose_axes.resize(static_cast<size_t>(input->shape().rank()));
    std::iota(attrs.transpose_axes.rbegin(), attrs.transpose_axes.rend(), 0);
  }
  return node.Finish(node.Add("", OpKind::kTranspose, {input}, std::move(attrs)));
}

namespace {

// Each padded axis as a list of the elements that it repeats.
absl::Status PadByWrapping(NodeImporter& node, Node* value, const PadAttrs& attrs) {
  const int64_t rank = value->shape().rank();
  if (static_cast<int64_t>(attrs.padding_list.size()) != 2 * rank) {
    return absl::InvalidArgumentError(absl::StrCat("pads has ", attrs.padding_list.size(),
                                                   " elements for an input of rank ", rank));
  }
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t begin = attrs.padding_list[static_cast<size_t>(axis)];
    const int64_t end = attrs.padding_list[static_cast<size_t>(axis + rank)];
    const int64_t dim = value->shape()[axis];
    constexpr int64_t kMost = int64_t{1} << 24;
    if (begin == 0 && end == 0) {
      continue;
    }
    if (dim < 1 || dim > kMost || std::max(begin, end) > kMost || std::min(begin, end) < -dim) {
      return absl::InvalidArgumentError(
          absl::StrCat("padding (", begin, ", ", end, ") of an axis of ", dim, " elements"));
    }
    std::vector<int64_t> places;
    for (int64_t i = -begin; i < dim + end; ++i) {
      places.push_back((i % dim + dim) % dim);
    }
    const Shape list = {static_cast<int64_t>(places.size())};
    QB_ASSIGN_OR_RETURN(Node * indices, node.AddConstant(absl::StrCat("places_", axis),
                                                         Tensor::OfInt64s(list, places)));
    GatherAttrs along;
    along.axis = axis;
    QB_ASSIGN_OR_RETURN(value, node.Add(absl::StrCat("wrapped_", axis), OpKind::kGather,
                                        {value, indices}, std::move(along)));
  }
  return node.Finish(value);
}

}  // namespace

absl::Status ImportPad(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  PadAttrs attrs;
  QB_ASSIGN_OR_RETURN(const bool wraps, IsWrap(node));
  if (!wraps) {
    QB_ASSIGN_OR_RETURN(attrs.pad_mode, ReadPadMode(node));
  }
  if (node.opset() < 11) {
    QB_RETURN_IF_ERROR(ReadPadAttributes(node, attrs));
  } else {
    QB_RETURN_IF_ERROR(ReadPadInputs(node, input->shape().rank(), attrs));
  }
  if (wraps) {
    return PadByWrapping(node, input, attrs);
  }
  return node.Finish(node.Add("", OpKind::kPad, {input}, std::move(attrs)));
}

absl::Status ImportGather(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * data, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(Node * indices, node.Input(1, "indices"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", 0));
  GatherAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, data->shape().rank()));
  return node.Finish(node.Add("", OpKind::kGather, {data, indices}, std::move(attrs)));
}

absl::Status ImportExpand(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> dims, node.IntsInput(1, "shape"));
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  QB_ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(input->shape(), Shape(std::move(dims))));
  if (shape == input->shape()) {
    return node.Finish(input);
  }
  ExpandAttrs attrs;
  attrs.shape = shape.dims();
  return node.Finish(node.Add("", OpKind::kExpand, {input}, std::move(attrs)));
}

absl::Status ImportDepthToSpace(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  DepthSpaceAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.block_size, node.RequiredIntAttr("blocksize"));
  if (node.opset() >= 11) {
    QB_ASSIGN_OR_RETURN(const std::string mode, node.StringAttr("mode", "DCR"));
    if (mode != "DCR" && mode != "CRD") {
      return absl::InvalidArgumentError(
          absl::StrCat("mode is '", mode.substr(0, 64), "'; DCR and CRD are accepted"));
    }
    attrs.order = mode == "CRD" ? DepthOrder::kCrd : DepthOrder::kDcr;
  }
  return node.Finish(node.Add("", OpKind::kDepthToSpace, {input}, std::move(attrs)));
}

absl::Status ImportSpaceToDepth(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  DepthSpaceAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.block_size, node.RequiredIntAttr("blocksize"));
  return node.Finish(node.Add("", OpKind::kSpaceToDepth, {input}, std::move(attrs)));
}

}  // namespace qb::onnx_import
