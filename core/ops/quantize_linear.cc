#include "core/ops/quantize_linear.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status CheckScales(const InferenceInput& input) {
  const auto& attrs = input.attributes<QuantizeLinearAttrs>();
  const Shape& x = input.shape(QuantizeLinearAttrs::kInput);
  const Shape& scale = input.shape(QuantizeLinearAttrs::kScale);
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "scale ", input.type(1).ToString(), ", zero point ", input.type(2).ToString(), ", axis ",
        attrs.axis, " and block_size ", attrs.block_size, " for ", input.type(0).ToString(),
        "; accepted: one number, one for each element of an axis, or one a block"));
  };
  if (input.shape(QuantizeLinearAttrs::kZeroPoint) != scale || attrs.block_size < 0) {
    return refuse();
  }
  if (attrs.block_size == 0 && scale.elements() == 1 && scale.rank() <= 1) {
    return absl::OkStatus();
  }
  if (attrs.axis < 0 || attrs.axis >= x.rank()) {
    return refuse();
  }
  Shape wanted = {x[attrs.axis]};
  if (attrs.block_size > 0) {
    wanted = x;
    wanted[attrs.axis] = (x[attrs.axis] + attrs.block_size - 1) / attrs.block_size;
  }
  return scale == wanted ? absl::OkStatus() : refuse();
}

}  // namespace

absl::StatusOr<TensorType> InferQuantizeLinear(const InferenceInput& input) {
  const TensorType& x = input.type(QuantizeLinearAttrs::kInput);
  const DType quantized = input.type(QuantizeLinearAttrs::kZeroPoint).dtype;
  if ((!IsFloat(x.dtype) && x.dtype != DType::kInt32) || !IsInteger(quantized) ||
      !IsFloat(input.type(QuantizeLinearAttrs::kScale).dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it quantizes ", x.ToString(), " to ", DTypeName(quantized),
                     "; accepted: a float type or int32 to an integer type"));
  }
  QB_RETURN_IF_ERROR(CheckScales(input));
  return TensorType{quantized, x.shape};
}

absl::StatusOr<TensorType> InferDequantizeLinear(const InferenceInput& input) {
  const TensorType& x = input.type(QuantizeLinearAttrs::kInput);
  const DType real = input.type(QuantizeLinearAttrs::kScale).dtype;
  if (!IsInteger(x.dtype) || input.type(QuantizeLinearAttrs::kZeroPoint).dtype != x.dtype ||
      !IsFloat(real)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it dequantizes ", x.ToString(), " with a scale of ", DTypeName(real),
                     "; accepted: an integer type that is the zero point's, and a float type"));
  }
  QB_RETURN_IF_ERROR(CheckScales(input));
  return TensorType{real, x.shape};
}

}  // namespace qb
