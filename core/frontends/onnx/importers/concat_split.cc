// Concat, Split and Slice.
#include <algorithm>
#include <numeric>
#include <optional>
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

// Sizes of the parts of a Split: given as attribute or input, or as equal as possible.
absl::StatusOr<std::vector<int64_t>> SplitSizes(NodeImporter& node, int64_t outputs, int64_t dim) {
  std::vector<int64_t> sizes;
  if (node.opset() < 13) {
    QB_ASSIGN_OR_RETURN(sizes, node.IntsAttr("split"));
  } else if (node.HasInput(1)) {
    QB_ASSIGN_OR_RETURN(sizes, node.IntsInput(1, "split"));
  }
  int64_t parts = outputs;
  if (node.opset() >= 18) {
    QB_ASSIGN_OR_RETURN(parts, node.IntAttr("num_outputs", outputs));
  }
  if (!sizes.empty()) {
    const bool negative = std::any_of(sizes.begin(), sizes.end(),
                                      [&](int64_t size) { return size < 0 || size > dim; });
    if (negative || static_cast<int64_t>(sizes.size()) != outputs ||
        std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != dim) {
      return absl::InvalidArgumentError(absl::StrCat("split is [", absl::StrJoin(sizes, ", "),
                                                     "] for ", outputs, " outputs of an axis of ",
                                                     dim));
    }
    return sizes;
  }
  if (parts != outputs || parts < 1 || (node.opset() < 18 && dim % parts != 0)) {
    return absl::InvalidArgumentError(absl::StrCat("an axis of ", dim, " cannot be split into ",
                                                   parts, " equal parts for ", outputs,
                                                   " outputs"));
  }
  const int64_t chunk = (dim + parts - 1) / parts;  // the last one may be smaller
  for (int64_t i = 0; i < parts; ++i) {
    sizes.push_back(std::max<int64_t>(std::min(chunk, dim - i * chunk), 0));
  }
  return sizes;
}

struct SliceLists {
  std::vector<int64_t> starts, ends, axes, steps;
};

absl::StatusOr<SliceLists> ReadSlice(NodeImporter& node) {
  SliceLists lists;
  if (node.opset() < 10) {
    QB_ASSIGN_OR_RETURN(lists.starts, node.IntsAttr("starts"));
    QB_ASSIGN_OR_RETURN(lists.ends, node.IntsAttr("ends"));
    QB_ASSIGN_OR_RETURN(lists.axes, node.IntsAttr("axes"));
  } else {
    QB_ASSIGN_OR_RETURN(lists.starts, node.IntsInput(1, "starts"));
    QB_ASSIGN_OR_RETURN(lists.ends, node.IntsInput(2, "ends"));
    if (node.HasInput(3)) {
      QB_ASSIGN_OR_RETURN(lists.axes, node.IntsInput(3, "axes"));
    }
    if (node.HasInput(4)) {
      QB_ASSIGN_OR_RETURN(lists.steps, node.IntsInput(4, "steps"));
    }
  }
  const size_t count = lists.starts.size();
  if (lists.axes.empty()) {
    lists.axes.resize(count);
    std::iota(lists.axes.begin(), lists.axes.end(), 0);
  }
  if (lists.steps.empty()) {
    lists.steps.assign(count, 1);
  }
  if (lists.ends.size() != count || lists.axes.size() != count || lists.steps.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "starts, ends, axes and steps have ", count, ", ", lists.ends.size(), ", ",
        lists.axes.size(), " and ", lists.steps.size(), " elements; equally many are accepted"));
  }
  return lists;
}

// A bound counted from the front. INT64_MIN + dim cannot overflow, INT64_MAX stays.
int64_t FromFront(int64_t bound, int64_t dim) { return bound < 0 ? bound + dim : bound; }

struct SliceBounds {
  int64_t start, end, step;
};

// Brings one axis into the normalized form of SliceAttrs. Source: ONNX Slice.
absl::Status AppendSlice(int64_t axis, int64_t dim, const SliceBounds& bounds, SliceAttrs& attrs) {
  auto [start, end, step] = bounds;
  if (step == 0) {
    return absl::InvalidArgumentError("a step is 0");
  }
  start = FromFront(start, dim);
  end = FromFront(end, dim);
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, dim);
    end = std::max(std::clamp<int64_t>(end, 0, dim), start);
  } else {
    start = std::clamp<int64_t>(start, dim == 0 ? -1 : 0, dim - 1);
    end = std::min(std::clamp<int64_t>(end, -1, dim - 1), start);
  }
  if (start == 0 && end == dim && step == 1) {
    return absl::OkStatus();  // the whole axis
  }
  attrs.axis.push_back(axis);
  attrs.start.push_back(start);
  attrs.end.push_back(end);
  // A step past the axis takes one element, whatever its size.
  const int64_t most = std::max<int64_t>(dim, 1);
  attrs.step.push_back(std::clamp(step, -most, most));
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportConcat(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * first, node.Input(0, "inputs"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.RequiredIntAttr("axis"));
  std::vector<Node*> operands = {first};
  for (int64_t i = 1; i < node.input_count(); ++i) {
    QB_ASSIGN_OR_RETURN(Node * operand, node.Input(i, "inputs"));
    operands.push_back(operand);
  }
  ConcatenateAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, first->shape().rank()));
  if (operands.size() == 1) {
    return node.Finish(first);
  }
  return node.Finish(node.Add("", OpKind::kConcatenate, operands, std::move(attrs)));
}

absl::Status ImportSplit(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", 0));
  QB_ASSIGN_OR_RETURN(const int64_t front, NormalizeAxis(axis, input->shape().rank()));
  const int64_t dim = input->shape()[front];
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, SplitSizes(node, node.output_slots(), dim));
  int64_t start = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t end = start + sizes[i];
    SliceAttrs attrs;
    QB_RETURN_IF_ERROR(AppendSlice(front, dim, {start, end, 1}, attrs));
    start = end;
    const auto index = static_cast<int64_t>(i);
    if (!node.HasOutput(index)) {
      continue;
    }
    Node* part = input;
    if (!attrs.axis.empty()) {
      QB_ASSIGN_OR_RETURN(part, node.AddOutputNode(index, OpKind::kSlice, {input},
                                                   std::make_unique<SliceAttrs>(attrs)));
    }
    QB_RETURN_IF_ERROR(node.SetOutput(index, part));
  }
  return absl::OkStatus();
}

absl::Status ImportSlice(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(const SliceLists lists, ReadSlice(node));
  const Shape& shape = input->shape();
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, NormalizedAxes(lists.axes, shape.rank()));
  SliceAttrs attrs;
  for (size_t i = 0; i < axes.size(); ++i) {
    QB_RETURN_IF_ERROR(AppendSlice(axes[i], shape[axes[i]],
                                   {lists.starts[i], lists.ends[i], lists.steps[i]}, attrs));
  }
  if (attrs.axis.empty()) {
    return node.Finish(input);
  }
  return node.Finish(node.Add("", OpKind::kSlice, {input}, std::move(attrs)));
}

}  // namespace qb::onnx_import
