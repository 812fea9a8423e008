#include "core/ops/normalization.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status CheckAxis(int64_t axis, const TensorType& type) {
  if (axis < 0 || axis >= type.shape.rank() || !IsFloat(type.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", type.ToString(),
                                                   "; accepted: an axis >= 0 of a float tensor"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorType> InferBatchnorm(const InferenceInput& input) {
  const auto& attrs = input.attributes<BatchnormAttrs>();
  const TensorType& type = input.type(BatchnormAttrs::kInput);
  QB_RETURN_IF_ERROR(CheckAxis(attrs.axis, type));
  if (!(attrs.epsilon >= 0.0f) || std::isinf(attrs.epsilon)) {
    return absl::InvalidArgumentError(
        absl::StrCat("epsilon is ", attrs.epsilon, "; accepted: a finite value >= 0"));
  }
  const TensorType parameter = {type.dtype, Shape({type.shape[attrs.axis]})};
  for (int64_t i = BatchnormAttrs::kGamma; i <= BatchnormAttrs::kVariance; ++i) {
    if (input.type(i) != parameter) {
      return absl::InvalidArgumentError(absl::StrCat(
          "operand ", i, " is ", input.type(i).ToString(), "; accepted: ", parameter.ToString()));
    }
  }
  return type;
}

absl::StatusOr<TensorType> InferSoftmax(const InferenceInput& input) {
  const auto& attrs = input.attributes<SoftmaxAttrs>();
  QB_RETURN_IF_ERROR(CheckAxis(attrs.axis, input.type(0)));
  if (!std::isfinite(attrs.beta)) {
    return absl::InvalidArgumentError(
        absl::StrCat("beta is ", attrs.beta, "; accepted: a finite value"));
  }
  return input.type(0);
}

}  // namespace qb
