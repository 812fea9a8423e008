#include "core/passes/lower_gather.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/movement.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

std::vector<int64_t> IndicesOf(const Tensor& tensor) {
  std::vector<int64_t> indices;
  indices.reserve(static_cast<size_t>(tensor.elements()));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    indices.push_back(tensor.dtype() == DType::kInt64 ? tensor.values<int64_t>()[i]
                                                      : tensor.values<int32_t>()[i]);
  }
  return indices;
}

// The slice of an axis of `dim` elements that takes these elements in this order; empty when none
// does.
std::optional<SliceAttrs> SliceOf(std::vector<int64_t> indices, int64_t axis, int64_t dim) {
  for (int64_t& index : indices) {
    if (index < -dim || index >= dim) {
      return std::nullopt;
    }
    index += index < 0 ? dim : 0;
  }
  const int64_t step = indices.size() > 1 ? indices[1] - indices[0] : 1;
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i] - indices[i - 1] != step) {
      return std::nullopt;
    }
  }
  if (indices.empty() || step == 0) {
    return std::nullopt;
  }
  SliceAttrs attrs;
  attrs.axis = {axis};
  attrs.start = {indices.front()};
  attrs.end = {indices.back() + (step > 0 ? 1 : -1)};
  attrs.step = {step};
  return attrs;
}

absl::StatusOr<bool> Lower(Graph& graph, Node* node) {
  const Node& indices = *node->operand(1);
  if (!indices.is_constant() || indices.shape().rank() > 1) {
    return false;
  }
  const int64_t axis = node->attrs<GatherAttrs>().axis;
  std::optional<SliceAttrs> slice =
      SliceOf(IndicesOf(indices.constant()), axis, node->operand(0)->shape()[axis]);
  if (!slice.has_value()) {
    return false;
  }
  const bool drops_axis = indices.shape().rank() == 0;
  QB_ASSIGN_OR_RETURN(
      Node * result,
      AddOp(graph, OpKind::kSlice, drops_axis ? absl::StrCat(node->name(), "/kept") : node->name(),
            {node->operand(0)}, *std::move(slice)));
  if (drops_axis) {
    ReshapeAttrs reshape;
    reshape.new_shape = node->shape().dims();
    QB_ASSIGN_OR_RETURN(result,
                        AddOp(graph, OpKind::kReshape, node->name(), {result}, std::move(reshape)));
  }
  TakeOver(graph, node, result);
  return true;
}

}  // namespace

absl::StatusOr<bool> LowerGather(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kGather) {
      QB_ASSIGN_OR_RETURN(const bool lowered, Lower(graph, node));
      changed |= lowered;
    }
  }
  return changed;
}

}  // namespace qb
