// autoTune as the compiler calls it: every NPU part tuned, the choices written down as settings.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/json.h"
#include "core/compiler/executable_parts.h"
#include "core/compiler/phases.h"
#include "core/config/compile_config.h"

namespace qb {

struct TunedBits {
  // The given config with the choices in bit.layerOverrides and without autoTune: it makes the same
  // bytes as tuning does.
  CompileConfig config;
  Json report;  // TuneResult::ToJson of each part
};

// Arguments as ForEachPart. Errors: those of AutoTune.
absl::StatusOr<TunedBits> TuneBits(const PlacedModel& model, const Dataset& calibration,
                                   const PartSettings& settings, const CompileConfig& config,
                                   Phases& phases);

// A model that was parsed for this compile says in its provenance with what settings: then `tuned`
// takes the place of `config` there, as it would stand if the settings had been given so.
void RecordTunedConfig(const CompileConfig& config, const CompileConfig& tuned, Json& manifest);

}  // namespace qb
