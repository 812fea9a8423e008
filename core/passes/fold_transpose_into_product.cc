#include "core/passes/fold_transpose_into_product.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/matmul.h"
#include "core/ops/movement.h"
#include "core/ops/pointwise.h"
#include "core/passes/permute_tensor.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

struct Pattern {
  Node* transpose = nullptr;
  Node* reshape = nullptr;
  Node* reshape_user = nullptr;  // the first pointwise operator, or the product
  int64_t first_joined = 0;      // axis of the transposed tensor from where on K is joined
};

// The first axis from which the dimensions make up the last dimension of `target` while the
// Transpose leaves the axes before it in place. Empty when there is none.
std::optional<int64_t> FirstJoinedAxis(const Node& transpose, const Shape& target) {
  const std::vector<int64_t>& axes = transpose.attrs<TransposeAttrs>().transpose_axes;
  const Shape& shape = transpose.shape();
  if (target.rank() == 0 || target.elements() == 0) {
    return std::nullopt;
  }
  for (int64_t first = 0; first < shape.rank(); ++first) {
    int64_t joined = 1;
    for (int64_t axis = first; axis < shape.rank(); ++axis) {
      joined *= shape[axis];
    }
    if (joined == target[target.rank() - 1]) {
      return first;
    }
    if (axes[static_cast<size_t>(first)] != first) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<Pattern> Match(Node* product) {
  const Node& weights = *product->operand(MatMulAttrs::kB);
  if (!weights.is_constant() || weights.shape().rank() != 2) {
    return std::nullopt;
  }
  Pattern pattern;
  pattern.reshape_user = product;
  pattern.reshape = product->operand(MatMulAttrs::kA);
  while (IsPointwise(pattern.reshape->op())) {
    if (!IsOnlyUsedBy(*pattern.reshape, *pattern.reshape_user)) {
      return std::nullopt;
    }
    pattern.reshape_user = pattern.reshape;
    pattern.reshape = pattern.reshape->operand(0);
  }
  if (pattern.reshape->op() != OpKind::kReshape ||
      pattern.reshape->operand(0)->op() != OpKind::kTranspose) {
    return std::nullopt;
  }
  pattern.transpose = pattern.reshape->operand(0);
  const std::optional<int64_t> first =
      FirstJoinedAxis(*pattern.transpose, pattern.reshape->shape());
  if (!first.has_value()) {
    return std::nullopt;
  }
  pattern.first_joined = *first;
  return pattern;
}

// The rows of `weights` in the order in which the operand of the Transpose holds them.
Tensor ReorderRows(const Tensor& weights, const Pattern& pattern) {
  const std::vector<int64_t>& axes = pattern.transpose->attrs<TransposeAttrs>().transpose_axes;
  const int64_t first = pattern.first_joined;
  std::vector<int64_t> dims;
  std::vector<int64_t> inverse(axes.size() - static_cast<size_t>(first));
  for (size_t i = static_cast<size_t>(first); i < axes.size(); ++i) {
    dims.push_back(pattern.transpose->shape()[static_cast<int64_t>(i)]);
    inverse[static_cast<size_t>(axes[i] - first)] = static_cast<int64_t>(i) - first;
  }
  inverse.push_back(static_cast<int64_t>(dims.size()));
  dims.push_back(weights.shape()[1]);
  return PermuteTensor(weights.Reshaped(Shape(dims)), inverse).Reshaped(weights.shape());
}

absl::Status Fold(Graph& graph, Node* product, const Pattern& pattern) {
  Node* weights = product->operand(MatMulAttrs::kB);
  graph.ReplaceOperand(product, MatMulAttrs::kB,
                       graph.AddConstant(absl::StrCat(weights->name(), "/reordered"),
                                         ReorderRows(weights->constant(), pattern)));
  // Its other users keep the Reshape of the transposed tensor.
  QB_ASSIGN_OR_RETURN(
      Node * reshape,
      AddOp(graph, OpKind::kReshape, absl::StrCat(pattern.reshape->name(), "/reordered"),
            {pattern.transpose->operand(0)}, pattern.reshape->attributes().Clone()));
  graph.ReplaceOperand(pattern.reshape_user, 0, reshape);
  for (Node* node = product->operand(0); node != reshape; node = node->operand(0)) {
    graph.Rename(node, absl::StrCat(node->name(), "/reordered"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> FoldTransposeIntoProduct(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() != OpKind::kMatMul) {
      continue;
    }
    if (const std::optional<Pattern> pattern = Match(node); pattern.has_value()) {
      QB_RETURN_IF_ERROR(Fold(graph, node, *pattern));
      changed = true;
    }
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
