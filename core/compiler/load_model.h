// Opening a model file of any kind that holds a float graph.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/dataset/dataset.h"
#include "core/ir/graph.h"

namespace qb {

// An .mblt as it is, or a source model imported and simplified as `parse` does. Errors:
// MODEL_PARSE_ERROR, UNSUPPORTED_OPERATOR.
absl::StatusOr<Graph> LoadFloatGraph(const std::string& path,
                                     const std::map<std::string, Shape>& input_shapes);

// What samples of the graph must look like, in the order of its inputs.
std::vector<InputSpec> InputSpecsOf(const Graph& graph);
std::vector<std::string> OutputNamesOf(const Graph& graph);

}  // namespace qb
