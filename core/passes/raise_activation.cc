#include "core/passes/raise_activation.h"

#include <cmath>
#include <memory>
#include <optional>

#include "core/base/status_macros.h"
#include "core/ops/elementwise.h"
#include "core/ops/pointwise.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

// The operator that equals x * gate(x), if there is one.
std::optional<OpKind> GatedKind(const Node& gate) {
  if (gate.op() == OpKind::kSigmoid && gate.attrs<SigmoidAttrs>().alpha == 1.0f) {
    return OpKind::kSwish;
  }
  if (gate.op() == OpKind::kHardSigmoid) {
    const auto& attrs = gate.attrs<HardSigmoidAttrs>();
    // Exporters write 1/6 as 0.16666667 or 0.1666666.
    if (std::abs(attrs.alpha - 1.0f / 6.0f) < 1e-6f && attrs.beta == 0.5f) {
      return OpKind::kHardSwish;
    }
  }
  return std::nullopt;
}

absl::StatusOr<bool> RaiseProduct(Graph& graph, Node* node, int64_t gate_index) {
  Node* gate = node->operand(gate_index);
  Node* x = node->operand(1 - gate_index);
  const std::optional<OpKind> kind = GatedKind(*gate);
  if (!kind.has_value() || gate->operand(0) != x || !IsOnlyUsedBy(*gate, *node)) {
    return false;
  }
  QB_RETURN_IF_ERROR(ReplaceWithOp(graph, node, *kind, {x}, std::make_unique<NoAttrs>()).status());
  RemoveIfUnused(graph, gate);
  return true;
}

}  // namespace

absl::StatusOr<bool> RaiseActivation(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() != OpKind::kMultiply ||
        node->attrs<ElementwiseAttrs>().activation.kind != ActivationKind::kNone) {
      continue;
    }
    QB_ASSIGN_OR_RETURN(bool raised, RaiseProduct(graph, node, 0));
    if (!raised) {
      QB_ASSIGN_OR_RETURN(raised, RaiseProduct(graph, node, 1));
    }
    changed |= raised;
  }
  return changed;
}

}  // namespace qb
