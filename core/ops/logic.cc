#include "core/ops/logic.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status Refuse(const InferenceInput& input, absl::string_view accepted) {
  std::string found = input.type(0).ToString();
  for (size_t i = 1; i < input.operands.size(); ++i) {
    absl::StrAppend(&found, i + 1 == input.operands.size() ? " and " : ", ",
                    input.type(static_cast<int64_t>(i)).ToString());
  }
  return absl::InvalidArgumentError(absl::StrCat("operands are ", found, "; accepted: ", accepted));
}

// All operands broadcast to one shape.
absl::StatusOr<Shape> BroadcastAll(const InferenceInput& input) {
  Shape shape = input.shape(0);
  for (const Node* operand : input.operands) {
    QB_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, operand->shape()));
  }
  QB_RETURN_IF_ERROR(CheckedElements(shape.dims()).status());
  return shape;
}

}  // namespace

absl::StatusOr<TensorType> InferTensorCmp(const InferenceInput& input) {
  if (input.type(0).dtype != input.type(1).dtype) {
    return Refuse(input, "one type");
  }
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(input));
  return TensorType{DType::kBool, std::move(shape)};
}

absl::StatusOr<TensorType> InferLogical(const InferenceInput& input) {
  const bool is_not = input.attributes<LogicalAttrs>().kind == LogicKind::kNot;
  if (input.operands.size() != (is_not ? 1u : 2u)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", input.operands.size(), " operands; accepted: ", is_not ? 1 : 2));
  }
  for (const Node* operand : input.operands) {
    if (operand->type().dtype != DType::kBool) {
      return Refuse(input, "bool");
    }
  }
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(input));
  return TensorType{DType::kBool, std::move(shape)};
}

absl::StatusOr<TensorType> InferBitwise(const InferenceInput& input) {
  const DType dtype = input.type(0).dtype;
  if (dtype != input.type(1).dtype || !IsInteger(dtype)) {
    return Refuse(input, "one integer type");
  }
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(input));
  return TensorType{dtype, std::move(shape)};
}

absl::StatusOr<TensorType> InferMod(const InferenceInput& input) {
  const DType dtype = input.type(0).dtype;
  const bool fmod = input.attributes<ModAttrs>().fmod;
  if (dtype != input.type(1).dtype || !(IsInteger(dtype) || (fmod && IsFloat(dtype)))) {
    return Refuse(input, "one integer type, with fmod one numeric type");
  }
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(input));
  return TensorType{dtype, std::move(shape)};
}

absl::StatusOr<TensorType> InferWhere(const InferenceInput& input) {
  const DType dtype = input.type(1).dtype;
  if (input.type(0).dtype != DType::kBool || dtype != input.type(2).dtype) {
    return Refuse(input, "bool and twice one type");
  }
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastAll(input));
  return TensorType{dtype, std::move(shape)};
}

}  // namespace qb
