#include "core/ops/movement.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

std::string Bracketed(absl::Span<const int64_t> values) {
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

absl::Status CheckAxis(int64_t axis, const TensorType& type) {
  if (axis < 0 || axis >= type.shape.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", type.ToString(),
                                                   "; accepted: 0 to ", type.shape.rank() - 1));
  }
  return absl::OkStatus();
}

// Elements that a normalized slice takes from an axis of `dim` elements.
absl::StatusOr<int64_t> CountSliced(int64_t dim, int64_t start, int64_t end, int64_t step) {
  const bool forward = step > 0 && 0 <= start && start <= end && end <= dim;
  const bool backward = step < 0 && -1 <= end && end <= start && start < dim;
  if (!forward && !backward) {
    return absl::InvalidArgumentError(
        absl::StrCat("slice ", start, ":", end, ":", step, " of an axis of ", dim,
                     " elements; accepted: bounds within the axis and a step that is not 0"));
  }
  const int64_t span = forward ? end - start : start - end;
  // -step would overflow for the least int64.
  const uint64_t stride = forward ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return span == 0 ? 0 : static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / stride) + 1;
}

absl::StatusOr<int64_t> PaddedSize(int64_t dim, int64_t begin, int64_t end, PadMode mode) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (std::min(begin, end) < -kMost || std::max(begin, end) > kMost || dim + begin + end < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("padding (", begin, ", ", end, ") of an axis of ", dim, " elements"));
  }
  const int64_t widest = std::max(begin, end);
  if ((mode == PadMode::kReflect && widest > 0 && widest >= dim) ||
      (mode == PadMode::kEdge && widest > 0 && dim == 0)) {
    return absl::InvalidArgumentError(absl::StrCat(NameOfEnum(mode), " padding (", begin, ", ", end,
                                                   ") of an axis of only ", dim, " elements"));
  }
  return dim + begin + end;
}

}  // namespace

absl::StatusOr<TensorType> InferReshape(const InferenceInput& input) {
  const auto& attrs = input.attributes<ReshapeAttrs>();
  QB_ASSIGN_OR_RETURN(const int64_t elements, CheckedElements(attrs.new_shape));
  if (elements != input.shape(0).elements()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "new_shape ", Bracketed(attrs.new_shape), " has ", elements, " elements; accepted: ",
        input.shape(0).elements(), ", as many as ", input.type(0).ToString(), " has"));
  }
  return TensorType{input.type(0).dtype, Shape(attrs.new_shape)};
}

absl::StatusOr<TensorType> InferTranspose(const InferenceInput& input) {
  const std::vector<int64_t>& axes = input.attributes<TransposeAttrs>().transpose_axes;
  const Shape& shape = input.shape(0);
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  bool permutation = static_cast<int64_t>(axes.size()) == shape.rank();
  for (size_t i = 0; permutation && i < sorted.size(); ++i) {
    permutation = sorted[i] == static_cast<int64_t>(i);
  }
  if (!permutation) {
    return absl::InvalidArgumentError(absl::StrCat("transpose_axes ", Bracketed(axes),
                                                   "; accepted: an order of the ", shape.rank(),
                                                   " axes of ", input.type(0).ToString()));
  }
  std::vector<int64_t> dims;
  dims.reserve(axes.size());
  for (const int64_t axis : axes) {
    dims.push_back(shape[axis]);
  }
  return TensorType{input.type(0).dtype, Shape(std::move(dims))};
}

absl::StatusOr<TensorType> InferConcatenate(const InferenceInput& input) {
  const int64_t axis = input.attributes<ConcatenateAttrs>().axis;
  TensorType type = input.type(0);
  QB_RETURN_IF_ERROR(CheckAxis(axis, type));
  for (size_t i = 1; i < input.operands.size(); ++i) {
    const TensorType& part = input.operands[i]->type();
    Shape expected = type.shape;
    if (part.shape.rank() == expected.rank()) {
      expected[axis] = part.shape[axis];
    }
    if (part.dtype != type.dtype || part.shape != expected) {
      return absl::InvalidArgumentError(absl::StrCat("operand ", i, " is ", part.ToString(),
                                                     "; accepted: ", input.type(0).ToString(),
                                                     " but for axis ", axis));
    }
    type.shape[axis] += part.shape[axis];
    QB_RETURN_IF_ERROR(CheckedElements(type.shape.dims()).status());
  }
  return type;
}

absl::StatusOr<TensorType> InferSlice(const InferenceInput& input) {
  const auto& attrs = input.attributes<SliceAttrs>();
  const size_t count = attrs.axis.size();
  if (attrs.start.size() != count || attrs.end.size() != count || attrs.step.size() != count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "axis, start, end and step have ", count, ", ", attrs.start.size(), ", ", attrs.end.size(),
        " and ", attrs.step.size(), " entries; accepted: equally many"));
  }
  TensorType type = input.type(0);
  std::vector<bool> seen(static_cast<size_t>(type.shape.rank()), false);
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = attrs.axis[i];
    QB_RETURN_IF_ERROR(CheckAxis(axis, type));
    if (seen[static_cast<size_t>(axis)]) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is sliced twice"));
    }
    seen[static_cast<size_t>(axis)] = true;
    QB_ASSIGN_OR_RETURN(type.shape[axis],
                        CountSliced(type.shape[axis], attrs.start[i], attrs.end[i], attrs.step[i]));
  }
  return type;
}

absl::StatusOr<TensorType> InferPad(const InferenceInput& input) {
  const auto& attrs = input.attributes<PadAttrs>();
  TensorType type = input.type(0);
  const int64_t rank = type.shape.rank();
  if (static_cast<int64_t>(attrs.padding_list.size()) != 2 * rank) {
    return absl::InvalidArgumentError(absl::StrCat("padding_list has ", attrs.padding_list.size(),
                                                   " entries; accepted: ", 2 * rank, " for ",
                                                   type.ToString()));
  }
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t begin = attrs.padding_list[static_cast<size_t>(axis)];
    const int64_t end = attrs.padding_list[static_cast<size_t>(axis + rank)];
    QB_ASSIGN_OR_RETURN(type.shape[axis], PaddedSize(type.shape[axis], begin, end, attrs.pad_mode));
  }
  QB_RETURN_IF_ERROR(CheckedElements(type.shape.dims()).status());
  return type;
}

absl::StatusOr<TensorType> InferExpand(const InferenceInput& input) {
  const std::vector<int64_t>& dims = input.attributes<ExpandAttrs>().shape;
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  const Shape shape(dims);
  const absl::StatusOr<Shape> broadcast = BroadcastShapes(input.shape(0), shape);
  if (!broadcast.ok() || *broadcast != shape) {
    return absl::InvalidArgumentError(
        absl::StrCat(input.type(0).ToString(), " cannot be expanded to ", shape.ToString()));
  }
  return TensorType{input.type(0).dtype, shape};
}

absl::StatusOr<TensorType> InferGather(const InferenceInput& input) {
  const int64_t axis = input.attributes<GatherAttrs>().axis;
  QB_RETURN_IF_ERROR(CheckAxis(axis, input.type(0)));
  const DType index_dtype = input.type(1).dtype;
  if (index_dtype != DType::kInt32 && index_dtype != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices are ", input.type(1).ToString(), "; accepted: int32 or int64"));
  }
  const std::vector<int64_t>& data = input.shape(0).dims();
  const std::vector<int64_t>& indices = input.shape(1).dims();
  std::vector<int64_t> dims(data.begin(), data.begin() + axis);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), data.begin() + axis + 1, data.end());
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  return TensorType{input.type(0).dtype, Shape(std::move(dims))};
}

std::vector<int64_t> IndexValues(const Tensor& indices, int64_t extent) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < indices.elements(); ++i) {
    const int64_t index = indices.dtype() == DType::kInt64
                              ? indices.data<int64_t>()[i]
                              : static_cast<int64_t>(indices.data<int32_t>()[i]);
    values.push_back(index < 0 ? index + extent : index);
  }
  return values;
}

}  // namespace qb
