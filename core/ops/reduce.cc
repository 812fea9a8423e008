#include "core/ops/reduce.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace qb {

absl::StatusOr<TensorType> InferReduce(const InferenceInput& input) {
  const auto& attrs = input.attributes<ReduceAttrs>();
  const TensorType& type = input.type(0);
  if (!IsFloat(type.dtype) && !IsInteger(type.dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", type.ToString(), "; accepted: a numeric type"));
  }
  std::vector<int64_t> dims = type.shape.dims();
  int64_t previous = -1;
  for (const int64_t axis : attrs.reduce_axes) {
    if (axis <= previous || axis >= type.shape.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("reduce_axes are [", absl::StrJoin(attrs.reduce_axes, ", "),
                       "]; accepted: rising axes of ", type.ToString()));
    }
    previous = axis;
    dims[static_cast<size_t>(axis)] = 1;
  }
  if (attrs.reduce_axes.empty()) {
    return absl::InvalidArgumentError("reduce_axes is empty; accepted: at least one axis");
  }
  if (!attrs.keep_dims) {
    for (auto axis = attrs.reduce_axes.rbegin(); axis != attrs.reduce_axes.rend(); ++axis) {
      dims.erase(dims.begin() + *axis);
    }
  }
  return TensorType{type.dtype, Shape(std::move(dims))};
}

}  // namespace qb
