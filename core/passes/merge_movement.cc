#include "core/passes/merge_movement.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/movement.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

// The node of the same kind below `node`, or null. It may have other users: it stays for them.
Node* SameKindBelow(const Node& node) {
  Node* below = node.operand(0);
  return below->op() == node.op() ? below : nullptr;
}

std::unique_ptr<Attributes> ReshapeTo(const Shape& shape) {
  auto attrs = std::make_unique<ReshapeAttrs>();
  attrs->new_shape = shape.dims();
  return attrs;
}

absl::StatusOr<bool> MergeReshape(Graph& graph, Node* node) {
  Node* below = SameKindBelow(*node);
  if (below == nullptr) {
    return false;
  }
  graph.ReplaceOperand(node, 0, below->operand(0));
  RemoveIfUnused(graph, below);
  return true;
}

bool KeepsElementOrder(const Node& transpose) {
  const Shape& shape = transpose.operand(0)->shape();
  int64_t previous = -1;
  for (const int64_t axis : transpose.attrs<TransposeAttrs>().transpose_axes) {
    if (shape[axis] != 1) {
      if (axis < previous) {
        return false;
      }
      previous = axis;
    }
  }
  return true;
}

absl::StatusOr<bool> MergeTranspose(Graph& graph, Node* node) {
  if (KeepsElementOrder(*node)) {
    QB_RETURN_IF_ERROR(
        ReplaceWithOp(graph, node, OpKind::kReshape, {node->operand(0)}, ReshapeTo(node->shape()))
            .status());
    return true;
  }
  Node* below = SameKindBelow(*node);
  if (below == nullptr) {
    return false;
  }
  const std::vector<int64_t>& first = below->attrs<TransposeAttrs>().transpose_axes;
  for (int64_t& axis : node->mutable_attrs<TransposeAttrs>().transpose_axes) {
    axis = first[static_cast<size_t>(axis)];
  }
  graph.ReplaceOperand(node, 0, below->operand(0));
  RemoveIfUnused(graph, below);
  return true;
}

// Bounds of `first` and then `second` along one axis, both with rising steps.
void ComposeBounds(SliceAttrs& first, size_t i, const SliceAttrs& second, size_t j) {
  const int64_t step = first.step[i];
  const int64_t count = (second.end[j] - second.start[j] + second.step[j] - 1) / second.step[j];
  const int64_t start = first.start[i] + second.start[j] * step;
  first.step[i] = step * second.step[j];
  first.start[i] = start;
  // The least end that takes `count` elements: within the axis also when the step is large.
  first.end[i] = count == 0 ? start : start + (count - 1) * first.step[i] + 1;
}

bool HasRisingSteps(const Node& slice) {
  const auto& attrs = slice.attrs<SliceAttrs>();
  // An empty result may start behind the last element; it is not worth a rule.
  return slice.shape().elements() > 0 &&
         std::all_of(attrs.step.begin(), attrs.step.end(),
                     [](int64_t step) { return step > 0 && step <= (int64_t{1} << 20); });
}

absl::StatusOr<bool> MergeSlice(Graph& graph, Node* node) {
  Node* below = SameKindBelow(*node);
  if (below == nullptr || !HasRisingSteps(*node) || !HasRisingSteps(*below)) {
    return false;
  }
  SliceAttrs merged = below->attrs<SliceAttrs>();
  const SliceAttrs& second = node->attrs<SliceAttrs>();
  for (size_t j = 0; j < second.axis.size(); ++j) {
    const auto found = std::find(merged.axis.begin(), merged.axis.end(), second.axis[j]);
    if (found != merged.axis.end()) {
      ComposeBounds(merged, static_cast<size_t>(found - merged.axis.begin()), second, j);
    } else {
      merged.axis.push_back(second.axis[j]);
      merged.start.push_back(second.start[j]);
      merged.end.push_back(second.end[j]);
      merged.step.push_back(second.step[j]);
    }
  }
  node->mutable_attrs<SliceAttrs>() = std::move(merged);
  graph.ReplaceOperand(node, 0, below->operand(0));
  RemoveIfUnused(graph, below);
  return true;
}

absl::StatusOr<bool> MergeNode(Graph& graph, Node* node) {
  switch (node->op()) {
    case OpKind::kReshape:
      return MergeReshape(graph, node);
    case OpKind::kTranspose:
      return MergeTranspose(graph, node);
    case OpKind::kSlice:
      return MergeSlice(graph, node);
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<bool> MergeMovement(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    QB_ASSIGN_OR_RETURN(const bool merged, MergeNode(graph, node));
    changed |= merged;
  }
  return changed;
}

}  // namespace qb
