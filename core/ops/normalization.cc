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

absl::Status CheckEpsilon(float epsilon) {
  if (!(epsilon >= 0.0f) || std::isinf(epsilon)) {
    return absl::InvalidArgumentError(
        absl::StrCat("epsilon is ", epsilon, "; accepted: a finite value >= 0"));
  }
  return absl::OkStatus();
}

absl::Status CheckParameters(const InferenceInput& input, const Shape& shape) {
  const TensorType parameter = {input.type(0).dtype, shape};
  for (size_t i = 1; i < input.operands.size(); ++i) {
    const TensorType& type = input.type(static_cast<int64_t>(i));
    if (type != parameter) {
      return absl::InvalidArgumentError(absl::StrCat(
          "operand ", i, " is ", type.ToString(), "; accepted: ", parameter.ToString()));
    }
  }
  return absl::OkStatus();
}

// Of the normalizations over the axes from `axis` on.
absl::StatusOr<TensorType> InferOverLastAxes(const InferenceInput& input, int64_t axis,
                                             float epsilon) {
  const TensorType& type = input.type(0);
  QB_RETURN_IF_ERROR(CheckAxis(axis, type));
  QB_RETURN_IF_ERROR(CheckEpsilon(epsilon));
  const std::vector<int64_t>& dims = type.shape.dims();
  QB_RETURN_IF_ERROR(
      CheckParameters(input, Shape(std::vector<int64_t>(dims.begin() + axis, dims.end()))));
  return type;
}

}  // namespace

absl::StatusOr<TensorType> InferBatchnorm(const InferenceInput& input) {
  const auto& attrs = input.attributes<BatchnormAttrs>();
  const TensorType& type = input.type(BatchnormAttrs::kInput);
  QB_RETURN_IF_ERROR(CheckAxis(attrs.axis, type));
  QB_RETURN_IF_ERROR(CheckEpsilon(attrs.epsilon));
  QB_RETURN_IF_ERROR(CheckParameters(input, Shape({type.shape[attrs.axis]})));
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

absl::StatusOr<TensorType> InferLayerNormalization(const InferenceInput& input) {
  const auto& attrs = input.attributes<LayerNormalizationAttrs>();
  return InferOverLastAxes(input, attrs.axis, attrs.epsilon);
}

absl::StatusOr<TensorType> InferRmsNormalization(const InferenceInput& input) {
  const auto& attrs = input.attributes<RmsNormalizationAttrs>();
  return InferOverLastAxes(input, attrs.axis, attrs.epsilon);
}

absl::StatusOr<TensorType> InferGroupNormalization(const InferenceInput& input) {
  const auto& attrs = input.attributes<GroupNormalizationAttrs>();
  const TensorType& type = input.type(0);
  QB_RETURN_IF_ERROR(CheckAxis(1, type));
  QB_RETURN_IF_ERROR(CheckEpsilon(attrs.epsilon));
  const int64_t channels = type.shape[1];
  if (attrs.num_groups < 1 || channels % attrs.num_groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        attrs.num_groups, " groups of ", channels, " channels; accepted: a divisor of them"));
  }
  QB_RETURN_IF_ERROR(CheckParameters(input, Shape({channels})));
  return type;
}

}  // namespace qb
