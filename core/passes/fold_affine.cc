#include "core/passes/fold_affine.h"

#include <optional>
#include <string>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/elementwise.h"
#include "core/passes/channel_values.h"
#include "core/passes/linear_weights.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

bool IsAffine(const Node& node) {
  return (node.op() == OpKind::kMultiply || node.op() == OpKind::kAdding) &&
         node.operand(0) != node.operand(1) && node.operand(0)->type() == node.type();
}

std::vector<std::string> ConstantNames(const Node& linear) {
  std::vector<std::string> names;
  for (int64_t i = 1; i < linear.operand_count(); ++i) {
    names.push_back(linear.operand(i)->name());
  }
  return names;
}

// The new weights and bias bear the names of the old ones where these are gone.
void TakeConstantNames(Graph& graph, const Node* linear, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (graph.FindNode(names[i]) == nullptr) {
      graph.Rename(linear->operand(static_cast<int64_t>(i) + 1), names[i]);
    }
  }
}

// linear -> affine
absl::StatusOr<bool> FoldIntoProducer(Graph& graph, Node* affine) {
  Node* producer = affine->operand(0);
  if (!IsOnlyUsedBy(*producer, *affine)) {
    return false;
  }
  std::optional<LinearWeights> linear = LinearWeights::Of(producer);
  if (!linear.has_value()) {
    return false;
  }
  const std::optional<std::vector<float>> values =
      ChannelValues(*affine->operand(1), producer->shape(), linear->channel_axis());
  if (!values.has_value()) {
    return false;
  }
  if (affine->op() == OpKind::kMultiply) {
    linear->ScaleOutputs(*values);
  } else {
    linear->ShiftOutputs(*values);
  }
  if (!linear->IsFinite()) {
    return false;
  }
  const std::vector<std::string> names = ConstantNames(*producer);
  QB_ASSIGN_OR_RETURN(
      Node * node, linear->Rebuild(graph, producer->operand(0),
                                   affine->attrs<ElementwiseAttrs>().activation, affine->name()));
  TakeOver(graph, affine, node);
  RemoveIfUnused(graph, producer);
  TakeConstantNames(graph, node, names);
  return true;
}

// affine -> linear. Returns the new operator, or null when nothing can be folded.
absl::StatusOr<Node*> FoldIntoConsumer(Graph& graph, Node* node) {
  Node* affine = node->operand(0);
  if (!IsAffine(*affine) || !IsOnlyUsedBy(*affine, *node) ||
      affine->attrs<ElementwiseAttrs>().activation.kind != ActivationKind::kNone) {
    return nullptr;
  }
  std::optional<LinearWeights> linear = LinearWeights::Of(node);
  const bool is_shift = affine->op() == OpKind::kAdding;
  if (!linear.has_value() || (is_shift && linear->has_padding())) {
    return nullptr;
  }
  const std::optional<std::vector<float>> values =
      ChannelValues(*affine->operand(1), affine->shape(), linear->channel_axis());
  if (!values.has_value()) {
    return nullptr;
  }
  if (is_shift) {
    linear->ShiftInputs(*values);
  } else {
    linear->ScaleInputs(*values);
  }
  if (!linear->IsFinite()) {
    return nullptr;
  }
  const std::vector<std::string> names = ConstantNames(*node);
  QB_ASSIGN_OR_RETURN(Node * folded,
                      linear->Rebuild(graph, affine->operand(0), Activation(), node->name()));
  TakeOver(graph, node, folded);
  RemoveIfUnused(graph, affine);
  TakeConstantNames(graph, folded, names);
  return folded;
}

// Folds all that stands before the operator, from the nearest on.
absl::StatusOr<bool> FoldChainIntoConsumer(Graph& graph, Node* node) {
  bool changed = false;
  while (node != nullptr) {
    QB_ASSIGN_OR_RETURN(node, FoldIntoConsumer(graph, node));
    changed |= node != nullptr;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> FoldAffine(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (IsAffine(*node)) {
      QB_ASSIGN_OR_RETURN(const bool folded, FoldIntoProducer(graph, node));
      changed |= folded;
    } else if (node->op() == OpKind::kConvolution ||
               node->op() == OpKind::kTransposeConvolution || node->op() == OpKind::kMatMul) {
      QB_ASSIGN_OR_RETURN(const bool folded, FoldChainIntoConsumer(graph, node));
      changed |= folded;
    }
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
