// Indices of either integer type, checked and counted from the front.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

#include "core/ir/dtype.h"

namespace qb::execute {

// Value `at` of an int32 or int64 list.
inline int64_t IndexAt(const void* values, DType dtype, int64_t at) {
  return dtype == DType::kInt32 ? static_cast<const int32_t*>(values)[at]
                                : static_cast<const int64_t*>(values)[at];
}

// Errors: InvalidArgument for an index outside [-dimension, dimension).
inline absl::StatusOr<int64_t> FromFront(int64_t index, int64_t dimension) {
  if (index < -dimension || index >= dimension) {
    return absl::InvalidArgumentError(
        absl::StrCat("index ", index, " is outside [", -dimension, ", ", dimension, ")"));
  }
  return index < 0 ? index + dimension : index;
}

// Places in a tensor that the last axis of an index tensor names: `depth` numbers each, of which
// the first belongs to the tensor's axis `first_axis`.
struct IndexTuples {
  DType dtype = DType::kInt64;
  int64_t depth = 0;
  std::vector<int64_t> dims;     // of the axes that the numbers belong to
  std::vector<int64_t> strides;  // in elements

  // The offset of tuple `at`. Errors: as FromFront.
  absl::StatusOr<int64_t> OffsetOf(const void* indices, int64_t at) const {
    int64_t offset = 0;
    for (int64_t d = 0; d < depth; ++d) {
      const auto axis = static_cast<size_t>(d);
      const absl::StatusOr<int64_t> index =
          FromFront(IndexAt(indices, dtype, at * depth + d), dims[axis]);
      if (!index.ok()) {
        return index.status();
      }
      offset += *index * strides[axis];
    }
    return offset;
  }
};

}  // namespace qb::execute
