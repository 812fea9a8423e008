// Which layers make most of the error, why, and which setting helps.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

#include "core/base/json.h"
#include "core/evaluate/layer_evaluation.h"
#include "core/ir/graph.h"

namespace qb {

struct Culprit {
  std::string layer;
  // Of the noise that all layers add on their own, each in relation to its signal. An estimate of
  // what the layer costs: noise on the way to the output may grow or fade.
  double noise_share = 0;
  std::string reason;
  std::string setting;  // e.g. "bit.layerOverrides.activation16Bits"; empty: none helps
  Json value;           // of the setting: a list of layers, or a number

  Json ToJson() const;
};

// Fills in what the metrics do not know by themselves: bits of weights from the `layers` of an
// executable's report, and why activations can have 8 bits only.
void AddLayerFacts(const Graph& graph, const Json& report_layers,
                   std::vector<LayerMetrics>& layers);

// The layers with a noise share of one percent or more, worst first.
std::vector<Culprit> FindCulprits(absl::Span<const LayerMetrics> layers);

// The settings of all culprits together, as a config file has them.
Json SuggestedSettings(absl::Span<const Culprit> culprits);

}  // namespace qb
