#include "core/passes/raise_global_pooling.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/movement.h"
#include "core/ops/pooling.h"
#include "core/ops/reduce.h"
#include "core/ops/window.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

bool IsSpatialMean(const Node& node, const ImageAxes& axes) {
  return node.op() == OpKind::kReduceMean && node.operand(0)->shape().rank() == 4 &&
         node.attrs<ReduceAttrs>().reduce_axes == std::vector<int64_t>{axes.height, axes.width};
}

bool IsWholeImageAverage(const Node& node) {
  if (node.op() != OpKind::kPooling) {
    return false;
  }
  const auto& attrs = node.attrs<PoolingAttrs>();
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  const Shape& image = node.operand(0)->shape();
  return attrs.pool_type == PoolType::kAverage && attrs.h_kernel == image[axes.height] &&
         attrs.w_kernel == image[axes.width] && attrs.h_dilation == 1 && attrs.w_dilation == 1 &&
         attrs.north_padding + attrs.south_padding + attrs.west_padding + attrs.east_padding == 0;
}

absl::Status Raise(Graph& graph, Node* node, bool channel_last) {
  GlobalAveragePoolingAttrs attrs;
  attrs.channel_last = channel_last;
  const bool drops_axes = node->shape().rank() != 4;
  QB_ASSIGN_OR_RETURN(Node * pooled,
                      AddOp(graph, OpKind::kGlobalAveragePooling,
                            drops_axes ? absl::StrCat(node->name(), "/pooled") : node->name(),
                            {node->operand(0)}, std::move(attrs)));
  Node* result = pooled;
  if (drops_axes) {
    ReshapeAttrs reshape;
    reshape.new_shape = node->shape().dims();
    QB_ASSIGN_OR_RETURN(result,
                        AddOp(graph, OpKind::kReshape, node->name(), {pooled}, std::move(reshape)));
  }
  TakeOver(graph, node, result);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> RaiseGlobalPooling(Graph& graph, const RaiseGlobalPoolingOptions& options) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (!IsFloat(node->type().dtype) || node->shape().elements() == 0) {
      continue;
    }
    const bool is_mean = IsSpatialMean(*node, AxesOfImage(options.channel_last));
    if (!is_mean && !IsWholeImageAverage(*node)) {
      continue;
    }
    const bool channel_last =
        is_mean ? options.channel_last : node->attrs<PoolingAttrs>().channel_last;
    QB_RETURN_IF_ERROR(Raise(graph, node, channel_last));
    changed = true;
  }
  return changed;
}

}  // namespace qb
