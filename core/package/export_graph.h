// A float graph in the operators of plain ONNX, which any runtime takes.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/ir/graph.h"
#include "core/package/onnx_builder.h"

namespace qb {

inline constexpr int64_t kPlainOpset = 17;

// The whole graph as a model: inputs and outputs with the graph's names, order and types. Errors:
// UNSUPPORTED_OPERATOR naming a node that has no form in ONNX; ResourceExhausted above 2 GiB.
absl::StatusOr<std::string> GraphToPlainOnnx(const Graph& graph);

// The nodes of `graph` into a model that is being built. `inputs`: the values that its inputs are
// there. Returns the values that its outputs are. Errors: as above.
absl::StatusOr<std::vector<std::string>> ExportGraph(const Graph& graph,
                                                     const std::vector<std::string>& inputs,
                                                     OnnxBuilder& builder);

}  // namespace qb
