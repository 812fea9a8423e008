// The setting `extraOutput`: intermediate layers that become outputs of the model.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/config/compile_config.h"
#include "core/ir/graph.h"

namespace qb {

// The names and globs of `extraOutput`, none when it does not apply.
std::vector<std::string> WantedExtraOutputs(const CompileConfig& config);

// Every layer that a name or glob matches becomes an output that bears the layer's name, after the
// outputs that there are, in topological order; one that is an output already stays one. Returns
// the names and globs that match no layer.
std::vector<std::string> AddExtraOutputs(const std::vector<std::string>& wanted, Graph& graph);

// OK when nothing is missing. Errors: CONFIG_ERROR with the nearest names of layers.
absl::Status RequireNoneMissing(const std::vector<std::string>& missing, const Graph& graph);

}  // namespace qb
