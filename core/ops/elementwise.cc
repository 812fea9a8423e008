#include "core/ops/elementwise.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {

absl::StatusOr<TensorType> InferElementwise(const InferenceInput& input) {
  const DType dtype = input.type(0).dtype;
  if (dtype != input.type(1).dtype || (!IsFloat(dtype) && !IsInteger(dtype))) {
    return absl::InvalidArgumentError(absl::StrCat("operands are ", input.type(0).ToString(),
                                                   " and ", input.type(1).ToString(),
                                                   "; accepted: one numeric type"));
  }
  const Activation& activation = input.attributes<ElementwiseAttrs>().activation;
  QB_RETURN_IF_ERROR(CheckActivation(activation));
  if (activation.kind != ActivationKind::kNone && !IsFloat(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("an activation on ", DTypeName(dtype), "; accepted: a float type"));
  }
  QB_ASSIGN_OR_RETURN(Shape shape, BroadcastShapes(input.shape(0), input.shape(1)));
  QB_RETURN_IF_ERROR(CheckedElements(shape.dims()).status());
  return TensorType{dtype, std::move(shape)};
}

}  // namespace qb
