#include "core/ops/indexing.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

absl::Status CheckIndices(const TensorType& indices) {
  if (indices.dtype != DType::kInt32 && indices.dtype != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices are ", indices.ToString(), "; accepted: int32 or int64"));
  }
  return absl::OkStatus();
}

// Indices of the data's rank that leave every axis but `axis` within the data.
absl::Status CheckElementIndices(const InferenceInput& input, int64_t axis) {
  QB_RETURN_IF_ERROR(CheckIndices(input.type(1)));
  const Shape& data = input.shape(0);
  const Shape& indices = input.shape(1);
  bool fits = axis >= 0 && axis < data.rank() && data.rank() == indices.rank();
  for (int64_t d = 0; fits && d < data.rank(); ++d) {
    fits = d == axis || indices[d] <= data[d];
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices ", indices.ToString(), " into axis ", axis, " of ", data.ToString(),
        "; accepted: the same rank and no other axis longer than the data's"));
  }
  return absl::OkStatus();
}

absl::Status CheckReduction(ScatterReduction reduction, DType dtype) {
  if (reduction != ScatterReduction::kNone && !IsFloat(dtype) && !IsInteger(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("reduction '", NameOfEnum(reduction), "' of ",
                                                   DTypeName(dtype), "; accepted: a numeric type"));
  }
  return absl::OkStatus();
}

std::vector<int64_t> Joined(absl::Span<const int64_t> head, absl::Span<const int64_t> tail) {
  std::vector<int64_t> dims(head.begin(), head.end());
  dims.insert(dims.end(), tail.begin(), tail.end());
  return dims;
}

}  // namespace

absl::StatusOr<TensorType> InferGatherElements(const InferenceInput& input) {
  QB_RETURN_IF_ERROR(CheckElementIndices(input, input.attributes<GatherAttrs>().axis));
  return TensorType{input.type(0).dtype, input.shape(1)};
}

absl::StatusOr<TensorType> InferGatherND(const InferenceInput& input) {
  QB_RETURN_IF_ERROR(CheckIndices(input.type(1)));
  const int64_t batch = input.attributes<GatherNDAttrs>().batch_dims;
  const absl::Span<const int64_t> data = input.shape(0).dims();
  const absl::Span<const int64_t> indices = input.shape(1).dims();
  const auto refuse = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices ", input.shape(1).ToString(), " into ", input.shape(0).ToString(), " with ", batch,
        " batch axes; accepted: equal batch axes and a last axis that names axes of the data"));
  };
  if (indices.empty() || batch < 0 || batch >= static_cast<int64_t>(indices.size()) ||
      batch >= static_cast<int64_t>(data.size())) {
    return refuse();
  }
  const int64_t depth = indices.back();
  const auto joint = static_cast<size_t>(batch);
  if (depth < 1 || depth > static_cast<int64_t>(data.size()) - batch ||
      !std::equal(data.begin(), data.begin() + batch, indices.begin())) {
    return refuse();
  }
  std::vector<int64_t> dims = Joined(indices.first(indices.size() - 1),
                                     data.subspan(joint + static_cast<size_t>(depth)));
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  return TensorType{input.type(0).dtype, Shape(std::move(dims))};
}

absl::StatusOr<TensorType> InferScatterElements(const InferenceInput& input) {
  const auto& attrs = input.attributes<ScatterElementsAttrs>();
  QB_RETURN_IF_ERROR(CheckElementIndices(input, attrs.axis));
  const TensorType updates = {input.type(0).dtype, input.shape(1)};
  if (input.type(2) != updates) {
    return absl::InvalidArgumentError(absl::StrCat("updates are ", input.type(2).ToString(),
                                                   "; accepted: ", updates.ToString()));
  }
  QB_RETURN_IF_ERROR(CheckReduction(attrs.reduction, updates.dtype));
  return input.type(0);
}

absl::StatusOr<TensorType> InferScatterND(const InferenceInput& input) {
  QB_RETURN_IF_ERROR(CheckIndices(input.type(1)));
  const absl::Span<const int64_t> data = input.shape(0).dims();
  const absl::Span<const int64_t> indices = input.shape(1).dims();
  if (indices.empty() || indices.back() < 1 ||
      indices.back() > static_cast<int64_t>(data.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "indices ", input.shape(1).ToString(), " into ", input.shape(0).ToString(),
        "; accepted: a last axis that names axes of the data"));
  }
  const TensorType updates = {
      input.type(0).dtype, Shape(Joined(indices.first(indices.size() - 1),
                                        data.subspan(static_cast<size_t>(indices.back()))))};
  if (input.type(2) != updates) {
    return absl::InvalidArgumentError(absl::StrCat("updates are ", input.type(2).ToString(),
                                                   "; accepted: ", updates.ToString()));
  }
  QB_RETURN_IF_ERROR(
      CheckReduction(input.attributes<ScatterNDAttrs>().reduction, updates.dtype));
  return input.type(0);
}

absl::StatusOr<TensorType> InferReverseSequence(const InferenceInput& input) {
  QB_RETURN_IF_ERROR(CheckIndices(input.type(1)));
  const auto& attrs = input.attributes<ReverseSequenceAttrs>();
  const Shape& data = input.shape(0);
  const auto within = [&](int64_t axis) { return axis >= 0 && axis < data.rank(); };
  if (!within(attrs.batch_axis) || !within(attrs.time_axis) ||
      attrs.batch_axis == attrs.time_axis ||
      input.shape(1) != Shape({data[attrs.batch_axis]})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "lengths ", input.shape(1).ToString(), ", batch axis ", attrs.batch_axis, " and time axis ",
        attrs.time_axis, " of ", data.ToString(), "; accepted: two axes and a length for each batch"));
  }
  return input.type(0);
}

}  // namespace qb
