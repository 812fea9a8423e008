#include "core/passes/lower_affine.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/passes/channel_values.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

constexpr int64_t kChannelAxis = 3;

// The constant of a Multiply or Adding per channel; empty for every other node.
std::optional<std::vector<float>> PerChannelConstant(const Node& node, OpKind op) {
  if (node.op() != op || node.shape().rank() != 4 || node.operand(0)->type() != node.type() ||
      node.operand(0)->is_constant() || node.shape()[kChannelAxis] == 1) {
    return std::nullopt;
  }
  return ChannelValues(*node.operand(1), node.shape(), kChannelAxis);
}

// What a chain of Multiply and Adding that ends in `last` computes.
struct AffineChain {
  Node* input = nullptr;
  Node* multiply = nullptr;  // null: the chain is `last` alone
  std::vector<float> scale;
  std::vector<float> shift;
  bool per_channel = false;  // a constant is more than one number
};

std::optional<AffineChain> ChainEndingIn(Node* last) {
  AffineChain chain;
  chain.input = last->operand(0);
  const size_t channels = static_cast<size_t>(last->shape()[kChannelAxis]);
  chain.per_channel = last->operand(1)->shape().elements() > 1;
  if (std::optional<std::vector<float>> scale = PerChannelConstant(*last, OpKind::kMultiply)) {
    chain.scale = *std::move(scale);
    chain.shift.assign(channels, 0.0f);
    return chain;
  }
  std::optional<std::vector<float>> shift = PerChannelConstant(*last, OpKind::kAdding);
  if (!shift.has_value()) {
    return std::nullopt;
  }
  chain.shift = *std::move(shift);
  chain.scale.assign(channels, 1.0f);
  Node* below = last->operand(0);
  if (std::optional<std::vector<float>> scale = PerChannelConstant(*below, OpKind::kMultiply);
      scale.has_value() && IsOnlyUsedBy(*below, *last) &&
      below->attrs<ElementwiseAttrs>().activation.kind == ActivationKind::kNone) {
    chain.scale = *std::move(scale);
    chain.multiply = below;
    chain.input = below->operand(0);
    chain.per_channel |= below->operand(1)->shape().elements() > 1;
  }
  return chain;
}

// True when an Adding that makes a chain with this Multiply follows: the Adding lowers both.
bool LeavesToAdding(const Node& multiply) {
  return multiply.users().size() == 1 &&
         multiply.attrs<ElementwiseAttrs>().activation.kind == ActivationKind::kNone &&
         multiply.users()[0]->operand(0) == &multiply &&
         PerChannelConstant(*multiply.users()[0], OpKind::kAdding).has_value();
}

absl::Status Lower(Graph& graph, Node* last, const AffineChain& chain) {
  const int64_t channels = last->shape()[kChannelAxis];
  ConvolutionAttrs attrs;
  attrs.channel_last = true;
  attrs.group_number = channels;
  attrs.activation = last->attrs<ElementwiseAttrs>().activation;
  Node* weights = graph.AddConstant(absl::StrCat(last->name(), "/weights"),
                                    Tensor::OfFloats({channels, 1, 1, 1}, chain.scale));
  Node* bias = graph.AddConstant(absl::StrCat(last->name(), "/bias"),
                                 Tensor::OfFloats({channels}, chain.shift));
  QB_ASSIGN_OR_RETURN(Node * node, AddOp(graph, OpKind::kConvolution, last->name(),
                                         {chain.input, weights, bias}, std::move(attrs)));
  TakeOver(graph, last, node);
  if (chain.multiply != nullptr) {
    RemoveIfUnused(graph, chain.multiply);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> LowerAffine(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    const bool is_multiply = node->op() == OpKind::kMultiply;
    if ((!is_multiply && node->op() != OpKind::kAdding) || node->shape().rank() != 4 ||
        (is_multiply && LeavesToAdding(*node))) {
      continue;
    }
    const std::optional<AffineChain> chain = ChainEndingIn(node);
    if (chain.has_value() && chain->per_channel) {
      QB_RETURN_IF_ERROR(Lower(graph, node, *chain));
      changed = true;
    }
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
