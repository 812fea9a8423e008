#include "core/ops/matmul.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status Mismatch(const InferenceInput& input) {
  return absl::InvalidArgumentError(absl::StrCat("a product of ", input.type(0).ToString(), " and ",
                                                 input.type(1).ToString(), " is not defined"));
}

// The product's shape by the rules of numpy.matmul.
absl::StatusOr<Shape> ProductShape(const InferenceInput& input) {
  std::vector<int64_t> a = input.shape(MatMulAttrs::kA).dims();
  std::vector<int64_t> b = input.shape(MatMulAttrs::kB).dims();
  if (a.empty() || b.empty()) {
    return Mismatch(input);
  }
  const bool a_is_vector = a.size() == 1;
  const bool b_is_vector = b.size() == 1;
  if (a_is_vector) {
    a.insert(a.begin(), 1);
  }
  if (b_is_vector) {
    b.push_back(1);
  }
  if (a.back() != b[b.size() - 2]) {
    return Mismatch(input);
  }
  const int64_t rows = a[a.size() - 2];
  const int64_t columns = b.back();
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  QB_ASSIGN_OR_RETURN(Shape leading, BroadcastShapes(Shape(a), Shape(b)));
  std::vector<int64_t> dims = leading.dims();
  if (!a_is_vector) {
    dims.push_back(rows);
  }
  if (!b_is_vector) {
    dims.push_back(columns);
  }
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  return Shape(std::move(dims));
}

}  // namespace

absl::StatusOr<TensorType> InferMatMul(const InferenceInput& input) {
  const DType dtype = input.type(0).dtype;
  const bool same = std::all_of(input.operands.begin(), input.operands.end(),
                                [&](const Node* node) { return node->type().dtype == dtype; });
  if (!same || (!IsFloat(dtype) && !IsInteger(dtype))) {
    return Mismatch(input);
  }
  QB_ASSIGN_OR_RETURN(Shape shape, ProductShape(input));
  if (input.operands.size() > MatMulAttrs::kBias) {
    const bool matrices = input.shape(0).rank() >= 2 && input.shape(1).rank() >= 2;
    const Shape& bias = input.shape(MatMulAttrs::kBias);
    if (!matrices || bias != Shape({shape[shape.rank() - 1]})) {
      return absl::InvalidArgumentError(
          absl::StrCat("a bias of ", bias.ToString(), " for a product of ", shape.ToString(),
                       "; accepted: its last dimension, for matrices"));
    }
  }
  const Activation& activation = input.attributes<MatMulAttrs>().activation;
  QB_RETURN_IF_ERROR(CheckActivation(activation));
  if (activation.kind != ActivationKind::kNone && !IsFloat(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an activation on ", DTypeName(dtype), "; accepted: a float type"));
  }
  return TensorType{dtype, std::move(shape)};
}

bool IsProductWithConstant(const Node& node) {
  for (int64_t i = MatMulAttrs::kB; i < node.operand_count(); ++i) {
    if (!node.operand(i)->is_constant() || node.operand(i)->type().dtype != DType::kFloat32) {
      return false;
    }
  }
  const Shape& b = node.operand(MatMulAttrs::kB)->shape();
  return !node.operand(MatMulAttrs::kA)->is_constant() &&
         node.operand(MatMulAttrs::kA)->shape().rank() >= 1 && b.rank() >= 2 &&
         b.elements() == b[b.rank() - 1] * b[b.rank() - 2];
}

}  // namespace qb
