#include "core/ops/prelu.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ir/shape.h"

namespace qb {

absl::StatusOr<TensorType> InferPRelu(const InferenceInput& input) {
  const TensorType& x = input.type(PReluOperands::kInput);
  const TensorType& slope = input.type(PReluOperands::kSlope);
  if (!IsFloat(x.dtype) && !IsInteger(x.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operand is ", x.ToString(), "; accepted: a numeric type"));
  }
  if (slope.dtype != x.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the slope is ", slope.ToString(), "; accepted: the operand's ", DTypeName(x.dtype)));
  }
  QB_ASSIGN_OR_RETURN(const Shape result, BroadcastShapes(x.shape, slope.shape));
  if (result != x.shape) {
    return absl::InvalidArgumentError(absl::StrCat("the slope of shape ", slope.shape.ToString(),
                                                   " does not broadcast to ", x.shape.ToString()));
  }
  return x;
}

}  // namespace qb
