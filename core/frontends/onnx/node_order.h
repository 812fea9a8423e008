// The nodes that the outputs need, operands before users.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {

// A topological order of the nodes that some graph output depends on; a file that is sorted keeps
// its order. Pointers into `model`. Errors: InvalidArgument when a value is defined twice or never,
// when nodes form a cycle, or when an output is listed twice or nothing is output.
absl::StatusOr<std::vector<const OnnxNode*>> OrderNodes(const OnnxModel& model);

}  // namespace qb::onnx_import
