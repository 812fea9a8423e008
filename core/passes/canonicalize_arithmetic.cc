#include "core/passes/canonicalize_arithmetic.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/elementwise.h"
#include "core/ops/pointwise.h"
#include "core/passes/channel_values.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

bool IsCommutative(OpKind op) {
  return op == OpKind::kAdding || op == OpKind::kMultiply || op == OpKind::kMaximum ||
         op == OpKind::kMinimum;
}

bool MoveConstantSecond(Graph& graph, Node* node) {
  Node* first = node->operand(0);
  Node* second = node->operand(1);
  if (!IsCommutative(node->op()) || !first->is_constant() || second->is_constant()) {
    return false;
  }
  graph.ReplaceOperand(node, 0, second);
  graph.ReplaceOperand(node, 1, first);
  return true;
}

// f of every element. Empty when a result is not finite.
template <typename F>
std::optional<Tensor> Mapped(const Tensor& tensor, F f) {
  Tensor result = Tensor::Allocate(tensor.type());
  float* out = result.mutable_data<float>();
  for (const float value : tensor.values<float>()) {
    *out = f(value);
    if (!std::isfinite(*out++)) {
      return std::nullopt;
    }
  }
  return result;
}

absl::StatusOr<bool> InvertConstant(Graph& graph, Node* node) {
  Node* constant = node->operand(1);
  if (!constant->is_constant() || constant->type().dtype != DType::kFloat32) {
    return false;
  }
  const bool is_sub = node->op() == OpKind::kSub;
  std::optional<Tensor> inverse =
      is_sub ? Mapped(constant->constant(), [](float v) { return -v; })
             : Mapped(constant->constant(), [](float v) { return 1.0f / v; });
  if (!inverse.has_value()) {
    return false;
  }
  Node* operand = graph.AddConstant(
      absl::StrCat(constant->name(), is_sub ? "/negated" : "/inverse"), *std::move(inverse));
  QB_RETURN_IF_ERROR(ReplaceWithOp(graph, node, is_sub ? OpKind::kAdding : OpKind::kMultiply,
                                   {node->operand(0), operand}, node->attributes().Clone())
                         .status());
  return true;
}

absl::StatusOr<bool> BoundToClip(Graph& graph, Node* node) {
  const bool is_max = node->op() == OpKind::kMaximum;
  const auto& activation = node->attrs<ElementwiseAttrs>().activation;
  const Node& bound = *node->operand(1);
  // A constant of higher rank adds dimensions.
  if (!IsScalarConstant(bound) || node->operand(0)->type() != node->type() ||
      activation.kind != ActivationKind::kNone) {
    return false;
  }
  const float value = bound.constant().values<float>()[0];
  if (std::isnan(value)) {
    return false;
  }
  auto clip = std::make_unique<ClipAttrs>();
  (is_max ? clip->clip_min_value : clip->clip_max_value) = value;
  QB_RETURN_IF_ERROR(
      ReplaceWithOp(graph, node, OpKind::kClip, {node->operand(0)}, std::move(clip)).status());
  return true;
}

absl::StatusOr<bool> ClipToRelu(Graph& graph, Node* node) {
  const auto& attrs = node->attrs<ClipAttrs>();
  if (attrs.clip_min_value != 0.0f || attrs.clip_max_value < std::numeric_limits<float>::max()) {
    return false;
  }
  QB_RETURN_IF_ERROR(
      ReplaceWithOp(graph, node, OpKind::kRelu, {node->operand(0)}, std::make_unique<NoAttrs>())
          .status());
  return true;
}

absl::StatusOr<bool> Canonicalize(Graph& graph, Node* node) {
  switch (node->op()) {
    case OpKind::kAdding:
    case OpKind::kMultiply:
      return MoveConstantSecond(graph, node);
    case OpKind::kSub:
    case OpKind::kDiv:
      return InvertConstant(graph, node);
    case OpKind::kMaximum:
    case OpKind::kMinimum: {
      const bool moved = MoveConstantSecond(graph, node);
      QB_ASSIGN_OR_RETURN(const bool replaced, BoundToClip(graph, node));
      return moved || replaced;
    }
    case OpKind::kClip:
      return ClipToRelu(graph, node);
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<bool> CanonicalizeArithmetic(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->type().dtype == DType::kFloat32) {
      QB_ASSIGN_OR_RETURN(const bool rewritten, Canonicalize(graph, node));
      changed |= rewritten;
    }
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
