#include "core/passes/lower_batch_norm.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/normalization.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

struct Affine {
  std::vector<float> scale;
  std::vector<float> shift;
};

// Empty vectors when a parameter is not constant or a result is not finite.
Affine AffineOf(const Node& node) {
  for (int64_t i = BatchnormAttrs::kGamma; i <= BatchnormAttrs::kVariance; ++i) {
    if (!node.operand(i)->is_constant()) {
      return {};
    }
  }
  const auto values = [&](int64_t index) {
    return node.operand(index)->constant().values<float>();
  };
  const double epsilon = node.attrs<BatchnormAttrs>().epsilon;
  Affine affine;
  for (size_t c = 0; c < values(BatchnormAttrs::kGamma).size(); ++c) {
    const double scale = values(BatchnormAttrs::kGamma)[c] /
                         std::sqrt(values(BatchnormAttrs::kVariance)[c] + epsilon);
    const double shift =
        values(BatchnormAttrs::kBeta)[c] - values(BatchnormAttrs::kMean)[c] * scale;
    affine.scale.push_back(static_cast<float>(scale));
    affine.shift.push_back(static_cast<float>(shift));
    if (!std::isfinite(affine.scale.back()) || !std::isfinite(affine.shift.back())) {
      return {};
    }
  }
  return affine;
}

absl::StatusOr<bool> Lower(Graph& graph, Node* node) {
  const Affine affine = AffineOf(*node);
  if (affine.scale.empty()) {
    return false;
  }
  const int64_t axis = node->attrs<BatchnormAttrs>().axis;
  std::vector<int64_t> dims(static_cast<size_t>(node->shape().rank() - axis), 1);
  dims[0] = node->shape()[axis];
  Node* scale = graph.AddConstant(absl::StrCat(node->name(), "/scale"),
                                  Tensor::OfFloats(Shape(dims), affine.scale));
  Node* shift = graph.AddConstant(absl::StrCat(node->name(), "/shift"),
                                  Tensor::OfFloats(Shape(dims), affine.shift));
  QB_ASSIGN_OR_RETURN(Node * scaled,
                      AddOp(graph, OpKind::kMultiply, absl::StrCat(node->name(), "/scaled"),
                            {node->operand(BatchnormAttrs::kInput), scale}));
  QB_ASSIGN_OR_RETURN(Node * shifted, AddOp(graph, OpKind::kAdding, node->name(), {scaled, shift}));
  TakeOver(graph, node, shifted);
  return true;
}

}  // namespace

absl::StatusOr<bool> LowerBatchNorm(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kBatchnorm && node->type().dtype == DType::kFloat32) {
      QB_ASSIGN_OR_RETURN(const bool lowered, Lower(graph, node));
      changed |= lowered;
    }
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
