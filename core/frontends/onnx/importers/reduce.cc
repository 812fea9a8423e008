// ReduceMean, ReduceSum, ReduceMax, ReduceMin.
#include "core/ops/reduce.h"

#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/axes.h"

namespace qb::onnx_import {
namespace {

OpKind KindOf(absl::string_view op_type) {
  if (op_type == "ReduceSum") {
    return OpKind::kReduceSum;
  }
  if (op_type == "ReduceMax") {
    return OpKind::kReduceMax;
  }
  return op_type == "ReduceMin" ? OpKind::kReduceMin : OpKind::kReduceMean;
}

}  // namespace

absl::Status ImportReduce(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "data"));
  if (input->type().dtype == DType::kBool) {
    return absl::UnimplementedError("an input of bool is not supported; numbers are");
  }
  // The axes became an input in opset 13 for ReduceSum and in 18 for the others.
  const int64_t input_since = node.op_type() == "ReduceSum" ? 13 : 18;
  QB_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> axes, node.AxesOf(1, input_since));
  QB_ASSIGN_OR_RETURN(const bool keep_dims, node.BoolAttr("keepdims", true));
  bool noop_without_axes = false;
  if (node.opset() >= input_since) {
    QB_ASSIGN_OR_RETURN(noop_without_axes, node.BoolAttr("noop_with_empty_axes", false));
  }
  const int64_t rank = input->shape().rank();
  ReduceAttrs attrs;
  attrs.keep_dims = keep_dims;
  QB_ASSIGN_OR_RETURN(attrs.reduce_axes, SortedAxes(axes.value_or(std::vector<int64_t>()), rank));
  if (attrs.reduce_axes.empty() && (noop_without_axes || rank == 0)) {
    return node.Finish(input);
  }
  if (attrs.reduce_axes.empty()) {
    attrs.reduce_axes.resize(static_cast<size_t>(rank));
    std::iota(attrs.reduce_axes.begin(), attrs.reduce_axes.end(), 0);
  }
  return node.Finish(node.Add("", KindOf(node.op_type()), {input}, std::move(attrs)));
}

}  // namespace qb::onnx_import
