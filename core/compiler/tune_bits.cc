#include "core/compiler/tune_bits.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/tuning/auto_tune.h"

namespace qb {
namespace {

constexpr char kOrigin[] = "autoTune";

AutoTuneOptions OptionsOf(const CompileConfig& config, bool whole_model) {
  AutoTuneOptions options;
  for (const TuneMetric metric :
       {TuneMetric::kSqnr, TuneMetric::kCosine, TuneMetric::kTop1Agreement}) {
    if (config.String("autoTune.metric") == TuneMetricName(metric)) {
      options.metric = metric;
    }
  }
  options.target = config.Float("autoTune.target");
  options.most_share = config.Float("autoTune.maxHighPrecisionShare");
  options.name_inputs = whole_model;
  return options;
}

// The list with what the steps add to it.
ConfigOverride Pinned(const CompileConfig& config, const std::string& list,
                      const std::vector<TuneChoice>& choices) {
  const std::string path = "bit.layerOverrides." + list;
  Json names = config.Get(path);
  for (const TuneChoice& choice : choices) {
    const char* own =
        !choice.weights ? "activation16Bits" : (choice.bits == 16 ? "weight16Bits" : "weight8Bits");
    if (list == own) {
      names.Append(choice.layer);
    }
  }
  return {path, std::move(names), kOrigin};
}

}  // namespace

absl::StatusOr<TunedBits> TuneBits(const PlacedModel& model, const Dataset& calibration,
                                   const PartSettings& settings, const CompileConfig& config,
                                   Phases& phases) {
  const AutoTuneOptions options = OptionsOf(config, !model.placement.partition.has_value());
  std::vector<TuneChoice> choices;
  Json report = Json::Array();
  const auto tune = [&](const PartInput& part) -> absl::Status {
    QB_ASSIGN_OR_RETURN(const Graph graph, TransformedGraph(part, phases, phases.cancel()));
    QB_ASSIGN_OR_RETURN(TuneResult result, AutoTune({graph, part.samples, *part.settings.target,
                                                     part.settings.quantization},
                                                    options, phases, phases.cancel()));
    phases.OnLog(result.reached ? LogLevel::kInfo : LogLevel::kWarning, kOrigin, result.ToText());
    choices.insert(choices.end(), result.choices.begin(), result.choices.end());
    report.Append(result.ToJson());
    return absl::OkStatus();
  };
  QB_RETURN_IF_ERROR(ForEachPart(model, calibration, settings, tune));
  std::vector<ConfigOverride> pinned = {{"autoTune.apply", Json(false), kOrigin}};
  for (const char* list : {"activation16Bits", "weight16Bits", "weight8Bits"}) {
    pinned.push_back(Pinned(config, list, choices));
  }
  return TunedBits{config.With(pinned), std::move(report)};
}

void RecordTunedConfig(const CompileConfig& config, const CompileConfig& tuned, Json& manifest) {
  if (manifest["provenance"]["parse"]["config"].Dump() != config.ToGroupedJson(true).Dump()) {
    return;
  }
  Json provenance = manifest["provenance"];
  Json parse = provenance["parse"];
  parse.Set("config", tuned.ToGroupedJson(true));
  provenance.Set("parse", std::move(parse));
  manifest.Set("provenance", std::move(provenance));
}

}  // namespace qb
