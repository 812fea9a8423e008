// ArgMax, ArgMin, TopK, CumSum, Hardmax.
#include "core/ops/search.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/logic.h"

namespace qb::onnx_import {
namespace {

// TopK puts the indices of `values` beside them.
absl::Status AddTopK(NodeImporter& node, Node* input, const TopKAttrs& attrs) {
  QB_RETURN_IF_ERROR(node.Finish(node.Add("", OpKind::kTopKValues, {input}, attrs)));
  if (!node.HasOutput(1)) {
    return absl::OkStatus();
  }
  QB_ASSIGN_OR_RETURN(Node * indices, node.AddOutputNode(1, OpKind::kTopKIndices, {input},
                                                         std::make_unique<TopKAttrs>(attrs)));
  return node.SetOutput(1, indices);
}

absl::StatusOr<int64_t> ReadAxis(NodeImporter& node, const Node* input, int64_t default_axis) {
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntAttr("axis", default_axis));
  return NormalizeAxis(axis, input->shape().rank());
}

}  // namespace

absl::Status ImportArg(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  ArgAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, ReadAxis(node, input, 0));
  QB_ASSIGN_OR_RETURN(attrs.keep_dims, node.BoolAttr("keepdims", true));
  if (node.opset() >= 12) {
    QB_ASSIGN_OR_RETURN(attrs.select_last, node.BoolAttr("select_last_index", false));
  }
  const OpKind kind = node.op_type() == "ArgMax" ? OpKind::kArgMax : OpKind::kArgMin;
  return node.Finish(node.Add("", kind, {input}, std::move(attrs)));
}

// k became an input in opset 10; the order and the least elements came in 11.
absl::Status ImportTopK(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  TopKAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, ReadAxis(node, input, -1));
  if (node.opset() < 10) {
    QB_ASSIGN_OR_RETURN(attrs.k, node.RequiredIntAttr("k"));
  } else {
    QB_ASSIGN_OR_RETURN(attrs.k, node.IntInput(1, "K"));
  }
  if (node.opset() >= 11) {
    QB_ASSIGN_OR_RETURN(attrs.largest, node.BoolAttr("largest", true));
    node.IgnoreAttr("sorted");  // any order is allowed without it
  }
  return AddTopK(node, input, attrs);
}

absl::Status ImportCumSum(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "x"));
  QB_ASSIGN_OR_RETURN(const int64_t axis, node.IntInput(1, "axis"));
  CumSumAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.axis, NormalizeAxis(axis, input->shape().rank()));
  QB_ASSIGN_OR_RETURN(attrs.exclusive, node.BoolAttr("exclusive", false));
  QB_ASSIGN_OR_RETURN(attrs.reverse, node.BoolAttr("reverse", false));
  return node.Finish(node.Add("", OpKind::kCumSum, {input}, std::move(attrs)));
}

// 1 at the first largest element, else 0. Before opset 13 the dimensions from `axis` on count as
// one.
absl::Status ImportHardmax(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "input"));
  const bool flattens = node.opset() < 13;
  QB_ASSIGN_OR_RETURN(int64_t axis, ReadAxis(node, input, flattens ? 1 : -1));
  const Shape shape = input->shape();
  Node* value = input;
  if (flattens) {
    Shape matrix = {1, 1};
    for (int64_t d = 0; d < shape.rank(); ++d) {
      matrix[d < axis ? 0 : 1] *= shape[d];
    }
    QB_ASSIGN_OR_RETURN(value, node.AddReshape("matrix", input, matrix));
    axis = 1;
  }
  ArgAttrs arg;
  arg.axis = axis;
  QB_ASSIGN_OR_RETURN(Node * largest,
                      node.Add("largest", OpKind::kArgMax, {value}, std::move(arg)));
  std::vector<int64_t> places;
  for (int64_t i = 0; i < value->shape()[axis]; ++i) {
    places.push_back(i);
  }
  std::vector<int64_t> dims(static_cast<size_t>(value->shape().rank()), 1);
  dims[static_cast<size_t>(axis)] = value->shape()[axis];
  QB_ASSIGN_OR_RETURN(Node * counted,
                      node.AddConstant("places", Tensor::OfInt64s(Shape(dims), places)));
  QB_ASSIGN_OR_RETURN(Node * is_largest,
                      node.Add("is_largest", OpKind::kTensorCmp, {largest, counted}));
  QB_ASSIGN_OR_RETURN(Node * result,
                      node.AddCast(flattens ? "flat" : "", is_largest, input->type().dtype));
  return node.Finish(flattens ? node.AddReshape("", result, shape) : result);
}

}  // namespace qb::onnx_import
