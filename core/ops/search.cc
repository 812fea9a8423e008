#include "core/ops/search.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status CheckAxisOf(int64_t axis, const TensorType& type) {
  if (axis < 0 || axis >= type.shape.rank() || (!IsFloat(type.dtype) && !IsInteger(type.dtype))) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", type.ToString(),
                                                   "; accepted: an axis >= 0 of a numeric type"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorType> InferArg(const InferenceInput& input) {
  const auto& attrs = input.attributes<ArgAttrs>();
  QB_RETURN_IF_ERROR(CheckAxisOf(attrs.axis, input.type(0)));
  std::vector<int64_t> dims = input.shape(0).dims();
  if (dims[static_cast<size_t>(attrs.axis)] == 0) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", attrs.axis, " of ",
                                                   input.type(0).ToString(),
                                                   "; accepted: at least one element"));
  }
  if (attrs.keep_dims) {
    dims[static_cast<size_t>(attrs.axis)] = 1;
  } else {
    dims.erase(dims.begin() + attrs.axis);
  }
  return TensorType{DType::kInt64, Shape(std::move(dims))};
}

absl::StatusOr<TensorType> InferTopKValues(const InferenceInput& input) {
  const auto& attrs = input.attributes<TopKAttrs>();
  QB_RETURN_IF_ERROR(CheckAxisOf(attrs.axis, input.type(0)));
  TensorType type = input.type(0);
  if (attrs.k < 0 || attrs.k > type.shape[attrs.axis]) {
    return absl::InvalidArgumentError(absl::StrCat("k is ", attrs.k, "; accepted: 0 to ",
                                                   type.shape[attrs.axis], ", the elements of axis ",
                                                   attrs.axis));
  }
  type.shape[attrs.axis] = attrs.k;
  return type;
}

absl::StatusOr<TensorType> InferTopKIndices(const InferenceInput& input) {
  QB_ASSIGN_OR_RETURN(TensorType type, InferTopKValues(input));
  type.dtype = DType::kInt64;
  return type;
}

absl::StatusOr<TensorType> InferCumSum(const InferenceInput& input) {
  QB_RETURN_IF_ERROR(CheckAxisOf(input.attributes<CumSumAttrs>().axis, input.type(0)));
  return input.type(0);
}

}  // namespace qb
