#include "core/ir/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace qb {

int64_t Shape::elements() const {
  int64_t count = 1;
  for (const int64_t dim : dims_) {
    count *= dim;
  }
  return count;
}

std::vector<int64_t> Shape::strides() const {
  std::vector<int64_t> strides(dims_.size(), 1);
  for (size_t i = dims_.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * dims_[i];
  }
  return strides;
}

std::string Shape::ToString() const {
  return dims_.empty() ? "scalar" : absl::StrJoin(dims_, "x");
}

absl::StatusOr<int64_t> CheckedElements(absl::Span<const int64_t> dims) {
  constexpr int64_t kMostElements = int64_t{1} << 40;
  // Without the zeros: strides and resized shapes multiply the other dimensions also where one is 0.
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a dimension is negative: [", absl::StrJoin(dims, ", "), "]"));
    }
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (count > kMostElements / dim) {
      return absl::InvalidArgumentError(
          absl::StrCat("a tensor of [", absl::StrJoin(dims, ", "), "] has more than 2^40 elements"));
    }
    count *= dim;
  }
  return empty ? 0 : count;
}

std::string TensorType::ToString() const {
  return absl::StrCat(DTypeName(dtype), "[", shape.ToString(), "]");
}

absl::StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is outside [", -rank, ", ", rank, ")"));
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  const int64_t rank = std::max(a.rank(), b.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t from_end = rank - i;
    const int64_t da = from_end <= a.rank() ? a[a.rank() - from_end] : 1;
    const int64_t db = from_end <= b.rank() ? b[b.rank() - from_end] : 1;
    if (da != db && da != 1 && db != 1) {
      return absl::InvalidArgumentError(absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(),
                                                     " cannot be broadcast together"));
    }
    dims[static_cast<size_t>(i)] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

}  // namespace qb
