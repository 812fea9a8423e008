#include "core/frontends/onnx/importers/axes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ir/shape.h"

namespace qb::onnx_import {

absl::StatusOr<std::vector<int64_t>> NormalizedAxes(const std::vector<int64_t>& axes,
                                                    int64_t rank) {
  std::vector<int64_t> normalized;
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) {
    QB_ASSIGN_OR_RETURN(const int64_t front, NormalizeAxis(axis, rank));
    if (seen[static_cast<size_t>(front)]) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", front, " is listed twice"));
    }
    seen[static_cast<size_t>(front)] = true;
    normalized.push_back(front);
  }
  return normalized;
}

absl::StatusOr<std::vector<int64_t>> SortedAxes(const std::vector<int64_t>& axes, int64_t rank) {
  QB_ASSIGN_OR_RETURN(std::vector<int64_t> normalized, NormalizedAxes(axes, rank));
  std::sort(normalized.begin(), normalized.end());
  return normalized;
}

}  // namespace qb::onnx_import
