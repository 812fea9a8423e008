// Reshape, Flatten, Squeeze, Unsqueeze: the elements keep their order.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"
#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {
namespace {

// The given dimensions with 0 (copy, unless allow_zero) and -1 (the rest) replaced.
absl::StatusOr<Shape> ReshapedShape(const Shape& input, std::vector<int64_t> dims,
                                    bool allow_zero) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("shape [", absl::StrJoin(dims, ", "), "] ", why,
                                                   " for an input of ", input.ToString()));
  };
  if (dims.size() > kMostRank) {
    return refuse("has too many dimensions");
  }
  std::optional<size_t> open;
  int64_t known = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (static_cast<int64_t>(i) >= input.rank()) {
        return refuse("copies a dimension that is not there");
      }
      dims[i] = input[static_cast<int64_t>(i)];
    }
    if (dims[i] == -1 && !open.has_value()) {
      open = i;
      continue;
    }
    if (dims[i] < 0 || (dims[i] != 0 && known > (int64_t{1} << 40) / dims[i])) {
      return refuse("is not possible");
    }
    known *= dims[i];
  }
  if (open.has_value()) {
    if (known == 0 || input.elements() % known != 0) {
      return refuse("is not possible");
    }
    dims[*open] = input.elements() / known;
  }
  return Shape(std::move(dims));
}

int64_t Product(std::vector<int64_t>::const_iterator begin,
                std::vector<int64_t>::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

}  // namespace

absl::Status ImportReshape(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> dims, node.IntsInput(1, "shape"));
  bool allow_zero = false;
  if (node.opset() >= 14) {
    QB_ASSIGN_OR_RETURN(allow_zero, node.BoolAttr("allowzero", false));
  }
  QB_ASSIGN_OR_RETURN(Shape shape, ReshapedShape(input->shape(), std::move(dims), allow_zero));
  return node.Finish(node.AddReshape("", input, shape));
}

absl::Status ImportFlatten(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  QB_ASSIGN_OR_RETURN(int64_t axis, node.IntAttr("axis", 1));
  const Shape& shape = input->shape();
  if (axis < -shape.rank() || axis > shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis is ", axis, "; ", -shape.rank(), " to ", shape.rank(), " is accepted"));
  }
  axis += axis < 0 ? shape.rank() : 0;
  const Shape matrix = {Product(shape.begin(), shape.begin() + axis),
                        Product(shape.begin() + axis, shape.end())};
  return node.Finish(node.AddReshape("", input, matrix));
}

absl::Status ImportSqueeze(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> given, node.AxesOf(1, 13));
  const Shape& shape = input->shape();
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                      SortedAxes(given.value_or(std::vector<int64_t>()), shape.rank()));
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const bool listed = std::binary_search(axes.begin(), axes.end(), axis);
    if (listed && shape[axis] != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis, " of ", shape.ToString(), " has more than one element"));
    }
    if (!(given.has_value() ? listed : shape[axis] == 1)) {
      dims.push_back(shape[axis]);
    }
  }
  return node.Finish(node.AddReshape("", input, Shape(std::move(dims))));
}

absl::Status ImportUnsqueeze(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> given, node.AxesOf(1, 13));
  if (!given.has_value()) {
    return absl::InvalidArgumentError("the axes are missing");
  }
  const auto rank = input->shape().rank() + static_cast<int64_t>(given->size());
  if (rank > static_cast<int64_t>(kMostRank)) {
    return absl::InvalidArgumentError(absl::StrCat("the result would have rank ", rank));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, SortedAxes(*given, rank));
  std::vector<int64_t> dims;
  auto next = input->shape().begin();
  for (int64_t axis = 0; axis < rank; ++axis) {
    dims.push_back(std::binary_search(axes.begin(), axes.end(), axis) ? 1 : *next++);
  }
  return node.Finish(node.AddReshape("", input, Shape(std::move(dims))));
}

}  // namespace qb::onnx_import
