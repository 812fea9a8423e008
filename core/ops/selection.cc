#include "core/ops/selection.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {

absl::StatusOr<TensorType> InferNonZero(const InferenceInput& input) {
  const Shape& shape = input.shape(0);
  Shape result = {std::max<int64_t>(shape.rank(), 1), shape.elements()};
  QB_RETURN_IF_ERROR(CheckedElements(result.dims()).status());
  return TensorType{DType::kInt64, std::move(result)};
}

absl::StatusOr<TensorType> InferCountUsed(const InferenceInput& input) {
  const TensorType& type = input.type(0);
  const int64_t rank = type.shape.rank();
  if (type.dtype != DType::kInt64 || rank < 1 || rank > 2 || (rank == 2 && type.shape[1] == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operand is ", type.ToString(), "; accepted: int64 of rank 1 or 2"));
  }
  return TensorType{DType::kInt64, Shape{}};
}

absl::StatusOr<TensorType> InferTrim(const InferenceInput& input) {
  const int64_t axis = input.attributes<TrimAttrs>().axis;
  if (axis < 0 || axis >= input.shape(0).rank() ||
      input.type(1) != TensorType{DType::kInt64, Shape{}}) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", input.type(0).ToString(),
                                                   " trimmed to ", input.type(1).ToString(),
                                                   "; accepted: an axis >= 0 and an int64 scalar"));
  }
  return input.type(0);
}

absl::StatusOr<TensorType> InferUnique(const InferenceInput& input) {
  const auto& attrs = input.attributes<UniqueAttrs>();
  const TensorType& type = input.type(0);
  if (attrs.axis < 0 || attrs.axis >= type.shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", attrs.axis, " of ", type.ToString(), "; accepted: an axis >= 0"));
  }
  return TensorType{DType::kInt64, Shape{type.shape[attrs.axis]}};
}

absl::StatusOr<TensorType> InferNonMaxSuppression(const InferenceInput& input) {
  const auto& attrs = input.attributes<NonMaxSuppressionAttrs>();
  const TensorType& boxes = input.type(0);
  const TensorType& scores = input.type(1);
  const bool fits = boxes.dtype == DType::kFloat32 && scores.dtype == DType::kFloat32 &&
                    boxes.shape.rank() == 3 && scores.shape.rank() == 3 && boxes.shape[2] == 4 &&
                    boxes.shape[0] == scores.shape[0] && boxes.shape[1] == scores.shape[2];
  if (!fits || attrs.max_output_size < 0 || std::isnan(attrs.iou_threshold) ||
      std::isnan(attrs.score_threshold)) {
    return absl::InvalidArgumentError(
        absl::StrCat("boxes are ", boxes.ToString(), " and scores ", scores.ToString(),
                     "; accepted: float32 [batch, n, 4] and [batch, classes, n], and thresholds"));
  }
  const Shape kept = {scores.shape[0], scores.shape[1],
                      std::min(boxes.shape[1], attrs.max_output_size), 3};
  QB_RETURN_IF_ERROR(CheckedElements(kept.dims()).status());
  return TensorType{DType::kInt64, Shape{kept[0] * kept[1] * kept[2], 3}};
}

}  // namespace qb
