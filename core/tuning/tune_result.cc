// How a search's result is told: by name, as JSON, as a table.
#include "absl/strings/str_format.h"

#include "core/tuning/auto_tune.h"

namespace qb {
namespace {

Json NamesJson(const std::vector<std::string>& names) {
  Json json = Json::Array();
  for (const std::string& name : names) {
    json.Append(name);
  }
  return json;
}

}  // namespace

absl::string_view TuneMetricName(TuneMetric metric) {
  switch (metric) {
    case TuneMetric::kSqnr:
      return "sqnr";
    case TuneMetric::kCosine:
      return "cosine";
    default:
      return "top1Agreement";
  }
}

Json TuneResult::ToJson() const {
  Json rows = Json::Array();
  for (const TuneChoice& choice : choices) {
    rows.Append(Json::Object()
                    .Set("layer", choice.layer)
                    .Set("what", choice.weights ? "weights" : "activations")
                    .Set("bits", int64_t{choice.bits})
                    .Set("gain", choice.gain)
                    .Set("added_cycles", choice.added_cycles)
                    .Set("added_tensors", choice.added_tensors));
  }
  Json bits = Json::Object()
                  .Set("activation16Bits", NamesJson(overrides.activation16))
                  .Set("weight16Bits", NamesJson(overrides.weight16))
                  .Set("weight8Bits", NamesJson(overrides.weight8))
                  .Set("weight4Bits", NamesJson(overrides.weight4));
  return Json::Object()
      .Set("metric", std::string(TuneMetricName(metric)))
      .Set("target", target)
      .Set("before", before)
      .Set("after", after)
      .Set("reached", reached)
      .Set("tensors", tensors)
      .Set("raised_tensors", raised)
      .Set("cycles_before", cycles_before)
      .Set("cycles_after", cycles_after)
      .Set("steps", std::move(rows))
      .Set("bit", Json::Object().Set("layerOverrides", std::move(bits)));
}

std::string TuneResult::ToText() const {
  std::string text =
      absl::StrFormat("%s %.5f -> %.5f (target %.5f %s); %d of %d tensors raised, %d -> %d cycles",
                      std::string(TuneMetricName(metric)), before, after, target,
                      reached ? "reached" : "missed", raised, tensors, cycles_before, cycles_after);
  for (const TuneChoice& choice : choices) {
    absl::StrAppendFormat(&text, "\n  %2d bits  %-11s  gain %.3e  %+d cycles  %s", choice.bits,
                          choice.weights ? "weights" : "activations", choice.gain,
                          choice.added_cycles, choice.layer);
  }
  return text;
}

}  // namespace qb
