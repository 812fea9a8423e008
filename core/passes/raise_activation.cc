#include "core/passes/raise_activation.h"

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/elementwise.h"
#include "core/ops/pointwise.h"
#include "core/passes/channel_values.h"
#include "core/passes/fused_activation.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

// A float32 Multiply without activation.
bool IsPlainProduct(const Node& node) {
  return node.op() == OpKind::kMultiply && node.type().dtype == DType::kFloat32 &&
         node.attrs<ElementwiseAttrs>().activation.kind == ActivationKind::kNone;
}

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

// The clamp [0, m] of `node` on x + b: as a Clip behind an Adding or as the Adding's own
// activation.
struct ShiftedClamp {
  Node* x = nullptr;
  float shift = 0.0f;  // b
  float most = 0.0f;   // m
};

std::optional<ShiftedClamp> MatchShiftedClamp(Node* node) {
  Activation clamp;
  Node* sum = node;
  if (const std::optional<Activation> clip = ClampOf(*node); clip.has_value()) {
    clamp = *clip;
    sum = node->operand(0);
    if (!IsOnlyUsedBy(*sum, *node)) {
      return std::nullopt;
    }
  }
  if (sum->op() != OpKind::kAdding || !IsScalarConstant(*sum->operand(1)) ||
      sum->operand(0)->type() != sum->type()) {
    return std::nullopt;
  }
  clamp = ComposeClamps(sum->attrs<ElementwiseAttrs>().activation, clamp);
  if (clamp.kind != ActivationKind::kClip || clamp.min != 0.0f || !(clamp.max > 0.0f) ||
      std::isinf(clamp.max)) {
    return std::nullopt;
  }
  return ShiftedClamp{sum->operand(0), sum->operand(1)->constant().values<float>()[0], clamp.max};
}

// True for the constant 1 / m, as far as float32 can say.
bool IsInverseOf(const Node& constant, float most) {
  return IsScalarConstant(constant) &&
         std::abs(constant.constant().values<float>()[0] * most - 1.0f) < 1e-6f;
}

absl::StatusOr<Node*> AddHardSigmoid(Graph& graph, const ShiftedClamp& clamp,
                                     absl::string_view name) {
  HardSigmoidAttrs attrs;
  attrs.alpha = 1.0f / clamp.most;
  attrs.beta = clamp.shift / clamp.most;
  return AddOp(graph, OpKind::kHardSigmoid, name, {clamp.x}, std::move(attrs));
}

void RemoveChain(Graph& graph, Node* clamp) {
  Node* sum = clamp->operand(0);
  const bool has_sum = clamp->op() != OpKind::kAdding;
  RemoveIfUnused(graph, clamp);
  if (has_sum) {
    RemoveIfUnused(graph, sum);
  }
}

// Clip(x + b, 0, m) * (1 / m)
absl::StatusOr<bool> RaiseHardSigmoid(Graph& graph, Node* node) {
  Node* clamp = node->operand(0);
  const std::optional<ShiftedClamp> match = MatchShiftedClamp(clamp);
  if (!match.has_value() || !IsOnlyUsedBy(*clamp, *node) || clamp->type() != node->type() ||
      !IsInverseOf(*node->operand(1), match->most)) {
    return false;
  }
  QB_ASSIGN_OR_RETURN(Node * gate, AddHardSigmoid(graph, *match, node->name()));
  TakeOver(graph, node, gate);
  RemoveChain(graph, clamp);
  return true;
}

// (a * Clip(x + b, 0, m)) * (1 / m) becomes a * HardSigmoid(x).
absl::StatusOr<bool> MoveScaleToClamp(Graph& graph, Node* node) {
  Node* product = node->operand(0);
  if (!IsPlainProduct(*product) || !IsOnlyUsedBy(*product, *node) ||
      product->type() != node->type()) {
    return false;
  }
  for (const int64_t index : {0, 1}) {
    Node* clamp = product->operand(index);
    const std::optional<ShiftedClamp> match = MatchShiftedClamp(clamp);
    if (!match.has_value() || !IsOnlyUsedBy(*clamp, *product) ||
        !IsInverseOf(*node->operand(1), match->most)) {
      continue;
    }
    QB_ASSIGN_OR_RETURN(Node * gate,
                        AddHardSigmoid(graph, *match, absl::StrCat(node->name(), "/gate")));
    graph.ReplaceOperand(product, index, gate);
    RemoveChain(graph, clamp);
    TakeOver(graph, node, product);
    return true;
  }
  return false;
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
    if (!IsPlainProduct(*node)) {
      continue;
    }
    QB_ASSIGN_OR_RETURN(bool raised, RaiseHardSigmoid(graph, node));
    if (!raised) {
      QB_ASSIGN_OR_RETURN(raised, MoveScaleToClamp(graph, node));
    }
    if (!raised) {
      QB_ASSIGN_OR_RETURN(raised, RaiseProduct(graph, node, 0));
    }
    if (!raised) {
      QB_ASSIGN_OR_RETURN(raised, RaiseProduct(graph, node, 1));
    }
    changed |= raised;
  }
  return changed;
}

}  // namespace qb
