// Lists of axes as models write them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace qb::onnx_import {

// Counted from the front and sorted. Errors: InvalidArgument for an axis outside the rank or twice.
absl::StatusOr<std::vector<int64_t>> SortedAxes(const std::vector<int64_t>& axes, int64_t rank);

// The same in the given order.
absl::StatusOr<std::vector<int64_t>> NormalizedAxes(const std::vector<int64_t>& axes, int64_t rank);

}  // namespace qb::onnx_import
