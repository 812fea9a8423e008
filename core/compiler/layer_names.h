// Settings by layer name against the layers that a model has.
#pragma once

#include "absl/status/status.h"

#include "core/config/compile_config.h"
#include "core/ir/graph.h"

namespace qb {

// Every name or glob of biasCorrection, bit.layerOverrides and calibration.layerOverrides must
// match a layer. Errors: CONFIG_ERROR listing all that match none, each with the nearest names.
absl::Status CheckLayerNames(const CompileConfig& config, const Graph& graph);

}  // namespace qb
