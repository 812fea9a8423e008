// MatMul and Gemm.
#include "core/ops/matmul.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/ops/movement.h"

namespace qb::onnx_import {
namespace {

absl::StatusOr<Node*> Transposed(NodeImporter& node, absl::string_view role, Node* matrix,
                                 bool transpose) {
  if (!transpose) {
    return matrix;
  }
  TransposeAttrs attrs;
  attrs.transpose_axes = {1, 0};
  return node.Add(role, OpKind::kTranspose, {matrix}, std::move(attrs));
}

absl::StatusOr<Node*> Scaled(NodeImporter& node, absl::string_view role, Node* value,
                             float factor) {
  if (factor == 1.0f) {
    return value;
  }
  QB_ASSIGN_OR_RETURN(Node * scalar,
                      node.AddScalar(absl::StrCat(role, "_factor"), value->type().dtype, factor));
  return node.Add(role, OpKind::kMultiply, {value, scalar});
}

// C as the bias [N] of the product, or null when it varies from row to row. Constant scalars are
// spread here, because a bias has one value per column.
absl::StatusOr<Node*> AsBias(NodeImporter& node, Node* c, int64_t columns) {
  const Shape& shape = c->shape();
  if (shape.elements() == 1 && c->is_constant() && columns != 1) {
    QB_ASSIGN_OR_RETURN(Node * flat, node.AddReshape("c_flat", c, {1}));
    ExpandAttrs attrs;
    attrs.shape = {columns};
    return node.Add("bias", OpKind::kExpand, {flat}, std::move(attrs));
  }
  const bool one_row = shape.rank() == 1 || (shape.rank() == 2 && shape[0] == 1);
  if (!one_row || shape.elements() != columns) {
    return static_cast<Node*>(nullptr);
  }
  return shape.rank() == 1 ? absl::StatusOr<Node*>(c) : node.AddReshape("bias", c, {columns});
}

struct GemmOperands {
  Node* a = nullptr;
  Node* b = nullptr;  // with alpha in it when constant
  float late_alpha = 1.0f;
};

absl::StatusOr<GemmOperands> ReadGemmOperands(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * a, node.Input(0, "A"));
  QB_ASSIGN_OR_RETURN(Node * b, node.Input(1, "B"));
  QB_ASSIGN_OR_RETURN(const bool transpose_a, node.BoolAttr("transA", false));
  QB_ASSIGN_OR_RETURN(const bool transpose_b, node.BoolAttr("transB", false));
  QB_ASSIGN_OR_RETURN(const float alpha, node.FloatAttr("alpha", 1.0f));
  if (a->shape().rank() != 2 || b->shape().rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat("A has shape ", a->shape().ToString(), " and B ",
                                                   b->shape().ToString(),
                                                   "; matrices are accepted"));
  }
  GemmOperands operands;
  QB_ASSIGN_OR_RETURN(operands.a, Transposed(node, "a", a, transpose_a));
  QB_ASSIGN_OR_RETURN(operands.b, Transposed(node, "b", b, transpose_b));
  if (operands.b->is_constant()) {
    QB_ASSIGN_OR_RETURN(operands.b, Scaled(node, "alpha_b", operands.b, alpha));
  } else {
    operands.late_alpha = alpha;
  }
  return operands;
}

// beta * C, or null without C. A beta of 0 leaves C out, whatever it holds.
absl::StatusOr<Node*> ReadGemmBias(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const float beta, node.FloatAttr("beta", 1.0f));
  if (!node.HasInput(2)) {
    return static_cast<Node*>(nullptr);
  }
  QB_ASSIGN_OR_RETURN(Node * c, node.Input(2, "C"));
  if (beta == 0.0f) {
    return static_cast<Node*>(nullptr);
  }
  return Scaled(node, "beta_c", c, beta);
}

}  // namespace

absl::Status ImportMatMul(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * a, node.Input(0, "A"));
  QB_ASSIGN_OR_RETURN(Node * b, node.Input(1, "B"));
  return node.Finish(node.Add("", OpKind::kMatMul, {a, b}));
}

absl::Status ImportGemm(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const GemmOperands operands, ReadGemmOperands(node));
  QB_ASSIGN_OR_RETURN(Node * c, ReadGemmBias(node));
  if (c == nullptr && operands.late_alpha == 1.0f) {
    return node.Finish(node.Add("", OpKind::kMatMul, {operands.a, operands.b}));
  }
  const int64_t columns = operands.b->shape()[1];
  if (c != nullptr && operands.late_alpha == 1.0f) {
    QB_ASSIGN_OR_RETURN(Node * bias, AsBias(node, c, columns));
    if (bias != nullptr) {
      return node.Finish(node.Add("", OpKind::kMatMul, {operands.a, operands.b, bias}));
    }
  }
  QB_ASSIGN_OR_RETURN(Node * product,
                      node.Add("product", OpKind::kMatMul, {operands.a, operands.b}));
  QB_ASSIGN_OR_RETURN(Node * scaled,
                      Scaled(node, c == nullptr ? "" : "scaled", product, operands.late_alpha));
  if (c == nullptr) {
    return node.Finish(scaled);
  }
  QB_ASSIGN_OR_RETURN(Node * sum, node.Add("", OpKind::kAdding, {scaled, c}));
  if (sum->shape() != scaled->shape()) {
    return absl::InvalidArgumentError(absl::StrCat("C of shape ", c->shape().ToString(),
                                                   " does not broadcast to ",
                                                   scaled->shape().ToString()));
  }
  return node.Finish(sum);
}

}  // namespace qb::onnx_import
