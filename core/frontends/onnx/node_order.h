// The nodes that the outputs need, operands before users.
#pragma once

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/frontends/onnx/onnx_model.h"

namespace qb::onnx_import {

// True for a value of a graph around the one at hand.
using IsOuterValue = absl::FunctionRef<bool(absl::string_view name)>;

// A topological order of the nodes that some graph output depends on; a file that is sorted keeps
// its order. Pointers into `graph`. Errors: InvalidArgument when a value is defined twice or never,
// when nodes form a cycle, or when an output is listed twice or nothing is output.
absl::StatusOr<std::vector<const OnnxNode*>> OrderNodes(const OnnxGraph& graph,
                                                        IsOuterValue is_outer);

}  // namespace qb::onnx_import
