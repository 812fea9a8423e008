#include "core/passes/fuse_activation.h"

#include <optional>

#include "absl/strings/str_cat.h"

#include "core/ops/movement.h"
#include "core/ops/pooling.h"
#include "core/passes/fused_activation.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

// Operators whose result consists of elements of the operand: min and max commute with them.
bool CommutesWithClamp(const Node& node) {
  switch (node.op()) {
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kExpand:
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
    case OpKind::kReduceMax:
      return true;
    case OpKind::kResize:
      return node.attrs<ResizeAttrs>().mode == ResizeMode::kNearest;
    case OpKind::kPooling:
      return node.attrs<PoolingAttrs>().pool_type == PoolType::kMax;
    default:
      return false;
  }
}

// The operator that can take the clamp, through a chain that only the clamp uses; or null.
Node* FindProducer(Node* clamp) {
  Node* user = clamp;
  Node* node = clamp->operand(0);
  while (IsOnlyUsedBy(*node, *user)) {
    if (FusedActivationOf(node) != nullptr) {
      return node;
    }
    if (!CommutesWithClamp(*node)) {
      return nullptr;
    }
    user = node;
    node = node->operand(0);
  }
  return nullptr;
}

void Fuse(Graph& graph, Node* clamp, Node* producer, const Activation& activation) {
  Activation* fused = FusedActivationOf(producer);
  *fused = ComposeClamps(*fused, activation);
  Node* last = clamp->operand(0);
  for (Node* node = last; node != producer;) {
    node = node->operand(0);
    // It no longer computes the tensor whose name it has.
    graph.Rename(node, absl::StrCat(node->name(), "/clamped"));
  }
  TakeOver(graph, clamp, last);
}

}  // namespace

absl::StatusOr<bool> FuseActivation(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    const std::optional<Activation> clamp = ClampOf(*node);
    if (!clamp.has_value() || !IsFloat(node->type().dtype)) {
      continue;
    }
    if (Node* producer = FindProducer(node); producer != nullptr) {
      Fuse(graph, node, producer, *clamp);
      changed = true;
    }
  }
  return changed;
}

}  // namespace qb
