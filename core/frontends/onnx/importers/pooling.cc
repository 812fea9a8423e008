// AveragePool, MaxPool and their global forms.
#include "core/ops/pooling.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/importers/window.h"
#include "core/ops/reduce.h"

namespace qb::onnx_import {
namespace {

absl::Status ImportPool(NodeImporter& node, PoolType type) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  if (!IsFloat(input->type().dtype)) {
    return absl::UnimplementedError(absl::StrCat("an input of ", DTypeName(input->type().dtype),
                                                 " is not supported; float types are"));
  }
  QB_ASSIGN_OR_RETURN(Node * image, AsImage(node, "x", input));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> kernel, node.IntsAttr("kernel_shape"));
  QB_ASSIGN_OR_RETURN(const Window window, ReadWindow(node, input->shape(), kernel));
  auto attrs = std::make_unique<PoolingAttrs>();
  attrs->pool_type = type;
  SetWindow(window, *attrs);
  QB_ASSIGN_OR_RETURN(attrs->is_ceil_mode, node.BoolAttr("ceil_mode", false));
  if (type == PoolType::kAverage) {
    QB_ASSIGN_OR_RETURN(attrs->is_include_pad, node.BoolAttr("count_include_pad", false));
  }
  return FinishImage(node, input, OpKind::kPooling, {image}, std::move(attrs));
}

// All spatial dimensions of [N, C, ...].
absl::StatusOr<ReduceAttrs> SpatialReduction(const Node* input) {
  if (input->shape().rank() < 3) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the input has shape ", input->shape().ToString(), "; [N, C, ...] is accepted"));
  }
  ReduceAttrs attrs;
  attrs.reduce_axes.resize(static_cast<size_t>(input->shape().rank() - 2));
  std::iota(attrs.reduce_axes.begin(), attrs.reduce_axes.end(), 2);
  return attrs;
}

}  // namespace

absl::Status ImportAveragePool(NodeImporter& node) { return ImportPool(node, PoolType::kAverage); }

absl::Status ImportMaxPool(NodeImporter& node) {
  node.IgnoreAttr("storage_order");  // orders the second output, which is refused
  return ImportPool(node, PoolType::kMax);
}

absl::Status ImportGlobalAveragePool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  if (input->shape().rank() == 4) {
    return node.Finish(node.Add("", OpKind::kGlobalAveragePooling, {input}));
  }
  QB_ASSIGN_OR_RETURN(ReduceAttrs attrs, SpatialReduction(input));
  return node.Finish(node.Add("", OpKind::kReduceMean, {input}, std::move(attrs)));
}

absl::Status ImportGlobalMaxPool(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(ReduceAttrs attrs, SpatialReduction(input));
  return node.Finish(node.Add("", OpKind::kReduceMax, {input}, std::move(attrs)));
}

}  // namespace qb::onnx_import
