#include "core/passes/fold_attention_scale.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/elementwise_value.h"
#include "core/ops/matmul.h"
#include "core/ops/normalization.h"
#include "core/passes/channel_values.h"
#include "core/passes/linear_weights.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

constexpr int kMostBetween = 8;

// The s of x * s; empty when the node is something else.
std::optional<float> ScalarFactor(const Node& node) {
  if (!IsPlainElementwise(node, OpKind::kMultiply) || !IsScalarConstant(*node.operand(1)) ||
      node.operand(0)->type() != node.type()) {
    return std::nullopt;
  }
  const float factor = node.operand(1)->constant().values<float>()[0];
  return std::isfinite(factor) && factor != 0.0f ? std::optional(factor) : std::nullopt;
}

bool MovesElements(const Node& node) {
  return node.op() == OpKind::kReshape || node.op() == OpKind::kTranspose;
}

// A product of two tensors that vary, without bias and activation.
bool IsPlainProduct(const Node& node) {
  return node.op() == OpKind::kMatMul && node.operand_count() == 2 &&
         !node.operand(MatMulAttrs::kA)->is_constant() &&
         !node.operand(MatMulAttrs::kB)->is_constant() &&
         node.attrs<MatMulAttrs>().activation.kind == ActivationKind::kNone;
}

// From the factor's operand down to a linear operator: `path` holds all of them.
bool FindLinear(Node* node, const Node& user, std::vector<Node*>& path) {
  if (!IsOnlyUsedBy(*node, user) || path.size() > kMostBetween) {
    return false;
  }
  path.push_back(node);
  if (MovesElements(*node) && FindLinear(node->operand(0), *node, path)) {
    return true;
  }
  if (IsPlainProduct(*node)) {
    for (const int64_t i : {MatMulAttrs::kA, MatMulAttrs::kB}) {
      if (FindLinear(node->operand(i), *node, path)) {
        return true;
      }
    }
  }
  if (LinearWeights::Of(node).has_value()) {
    return true;
  }
  path.pop_back();
  return false;
}

absl::StatusOr<bool> FoldIntoLinear(Graph& graph, Node* product, float factor) {
  std::vector<Node*> path;
  if (!FindLinear(product->operand(0), *product, path) || path.size() < 2) {
    return false;  // without anything between, fold_affine does it
  }
  Node* linear = path.back();
  std::optional<LinearWeights> weights = LinearWeights::Of(linear);
  weights->ScaleOutputs(
      std::vector<float>(static_cast<size_t>(weights->output_channels()), factor));
  if (!weights->IsFinite()) {
    return false;
  }
  const std::string name = absl::StrCat(linear->name(), "/scaled");
  QB_ASSIGN_OR_RETURN(Node * scaled,
                      weights->Rebuild(graph, linear->operand(0), Activation(), name));
  TakeOver(graph, linear, scaled);
  graph.Rename(scaled, name);
  for (size_t i = 1; i + 1 < path.size(); ++i) {
    graph.Rename(path[i], absl::StrCat(path[i]->name(), "/scaled"));
  }
  TakeOver(graph, product, path.front());
  return true;
}

// Takes a positive factor away from operand `index` of `user`, or from an operand of the product
// that it is. Returns 1 where there is none.
float TakeFactor(Graph& graph, Node* user, int64_t index) {
  Node* node = user->operand(index);
  if (!IsOnlyUsedBy(*node, *user)) {
    return 1.0f;
  }
  const std::optional<float> factor = ScalarFactor(*node);
  if (factor.has_value() && *factor > 0.0f) {
    graph.ReplaceOperand(user, index, node->operand(0));
    RemoveIfUnused(graph, node);
    return *factor;
  }
  float taken = 1.0f;
  if (MovesElements(*node)) {
    taken = TakeFactor(graph, node, 0);
  } else if (IsPlainProduct(*node)) {
    taken = TakeFactor(graph, node, MatMulAttrs::kA) * TakeFactor(graph, node, MatMulAttrs::kB);
  }
  if (taken != 1.0f) {
    graph.Rename(node, absl::StrCat(node->name(), "/unscaled"));
  }
  return taken;
}

// The constant divided by the factor; empty when that is not finite.
std::optional<Tensor> Divided(const Tensor& mask, float factor) {
  Tensor result = Tensor::Allocate(mask.type());
  float* out = result.mutable_data<float>();
  for (const float value : mask.values<float>()) {
    *out = value / factor;
    if (!std::isfinite(*out++)) {
      return std::nullopt;
    }
  }
  return result;
}

bool FoldIntoSoftmax(Graph& graph, Node* softmax) {
  float& beta = softmax->mutable_attrs<SoftmaxAttrs>().beta;
  if (const float factor = TakeFactor(graph, softmax, 0); factor != 1.0f) {
    beta *= factor;
    return true;
  }
  Node* sum = softmax->operand(0);
  if (!IsPlainElementwise(*sum, OpKind::kAdding) || !IsOnlyUsedBy(*sum, *softmax) ||
      !sum->operand(1)->is_constant() || sum->operand(0)->type() != sum->type()) {
    return false;
  }
  const std::optional<float> factor = ScalarFactor(*sum->operand(0));
  if (!factor.has_value() || !(*factor > 0.0f) || !IsOnlyUsedBy(*sum->operand(0), *sum)) {
    return false;
  }
  Node* mask = sum->operand(1);
  std::optional<Tensor> divided = Divided(mask->constant(), *factor);
  if (!divided.has_value()) {
    return false;
  }
  TakeFactor(graph, sum, 0);
  Node* scaled = graph.AddConstant(absl::StrCat(mask->name(), "/unscaled"), *std::move(divided));
  graph.ReplaceOperand(sum, 1, scaled);
  graph.Rename(sum, absl::StrCat(sum->name(), "/unscaled"));
  beta *= *factor;
  return true;
}

}  // namespace

absl::StatusOr<bool> FoldAttentionScale(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kSoftmax && node->type().dtype == DType::kFloat32) {
      changed |= FoldIntoSoftmax(graph, node);
      continue;
    }
    if (const std::optional<float> factor = ScalarFactor(*node); factor.has_value()) {
      QB_ASSIGN_OR_RETURN(const bool folded, FoldIntoLinear(graph, node, *factor));
      changed |= folded;
    }
  }
  if (changed) {
    graph.RemoveDeadNodes();
  }
  return changed;
}

}  // namespace qb
