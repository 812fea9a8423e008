#include "core/evaluate/culprits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

#include "core/ops/pointwise_closure.h"
#include "core/quantization/layer_overrides.h"

namespace qb {
namespace {

constexpr double kLeastShare = 0.01;
constexpr double kMostOf = 0.5;    // "most": more than half
constexpr double kCoherent = 0.3;  // of the error's energy
constexpr double kNextPercentile = 0.99999;

// Noise over signal of a figure in dB.
double NoiseRatio(double db) { return std::pow(10.0, -db / 10); }

Json NameList(const std::string& name) { return Json::Array().Append(Json(name)); }

// What stands in the way where the layer's own codes are too coarse.
void BlameCodes(const LayerMetrics& layer, Culprit& culprit) {
  const double dead = layer.dead_code_share.value_or(0);
  culprit.reason = absl::StrFormat("rounding to its own 8-bit codes (%.1f dB)", layer.rounding_db);
  if (dead > kMostOf) {
    absl::StrAppendFormat(&culprit.reason, "; %.0f %% of them stand for values that never occur",
                          dead * 100);
  }
  if (!layer.only_8_bits.empty()) {
    absl::StrAppend(&culprit.reason, "; it cannot have 16: ", layer.only_8_bits);
    return;
  }
  culprit.setting = "bit.layerOverrides.activation16Bits";
  culprit.value = NameList(layer.name);
}

Culprit Accused(const LayerMetrics& layer, double share) {
  Culprit culprit;
  culprit.layer = layer.name;
  culprit.noise_share = share;
  const double own = NoiseRatio(layer.rounding_db) / NoiseRatio(layer.sqnr_db);
  const bool by_codes = own > kMostOf;
  if (by_codes && layer.clipping_share > kMostOf) {
    culprit.reason = absl::StrFormat(
        "clipping: %.3f %% of its values lie beyond its codes and make %.0f %% of their error",
        layer.saturation_share * 100, layer.clipping_share * 100);
    culprit.setting = "calibration.maxPercentile.percentile";
    culprit.value = Json(kNextPercentile);
  } else if (by_codes && layer.activation_bits == 8) {
    BlameCodes(layer, culprit);
  } else if (layer.weight_bits == 4 || layer.weight_bits == 8) {
    culprit.reason = absl::StrCat("its weights of ", layer.weight_bits, " bits");
    culprit.setting = layer.weight_bits == 4 ? "bit.layerOverrides.weight8Bits"
                                             : "bit.layerOverrides.weight16Bits";
    culprit.value = NameList(layer.name);
  } else {
    culprit.reason = "the rounding of its operands";
  }
  if (layer.bias_share > kCoherent) {
    absl::StrAppendFormat(&culprit.reason,
                          "; %.0f %% of the error up to here is a shift of whole channels, which "
                          "biasCorrection takes away",
                          layer.bias_share * 100);
  }
  return culprit;
}

// `tree` with `value` at a dotted path; lists are joined.
void Place(Json& tree, absl::Span<const std::string> path, const Json& value) {
  if (path.size() > 1) {
    Json inner = tree.contains(path[0]) ? tree[path[0]] : Json::Object();
    Place(inner, path.subspan(1), value);
    tree.Set(path[0], std::move(inner));
    return;
  }
  Json joined = value;
  if (value.is_array() && tree.contains(path[0])) {
    joined = tree[path[0]];
    for (const Json& item : value.items()) {
      joined.Append(item);
    }
  }
  tree.Set(path[0], std::move(joined));
}

}  // namespace

Json Culprit::ToJson() const {
  return Json::Object()
      .Set("layer", layer)
      .Set("noise_share", noise_share)
      .Set("reason", reason)
      .Set("setting", setting)
      .Set("value", value);
}

void AddLayerFacts(const Graph& graph, const Json& report_layers,
                   std::vector<LayerMetrics>& layers) {
  const PointwiseClosures closures(graph);
  std::map<std::string, const Node*> nodes;
  for (const Node* node : graph.TopologicalOrder()) {
    nodes[node->name()] = node;
  }
  std::map<std::string, int64_t> weight_bits;
  for (const Json& row : report_layers.items()) {
    weight_bits[row["name"].as_string()] = row["weight_bits"].as_int();
  }
  for (LayerMetrics& layer : layers) {
    const auto bits = weight_bits.find(layer.name);
    layer.weight_bits = bits == weight_bits.end() ? 0 : static_cast<int>(bits->second);
    const auto node = nodes.find(layer.name);
    layer.only_8_bits = node == nodes.end() ? "" : WhyNarrow(*node->second, closures);
  }
}

std::vector<Culprit> FindCulprits(absl::Span<const LayerMetrics> layers) {
  double noise = 0;
  for (const LayerMetrics& layer : layers) {
    noise += NoiseRatio(layer.sqnr_db);
  }
  std::vector<Culprit> culprits;
  for (const LayerMetrics& layer : layers) {
    const double share = noise > 0 ? NoiseRatio(layer.sqnr_db) / noise : 0;
    if (share >= kLeastShare) {
      culprits.push_back(Accused(layer, share));
    }
  }
  std::stable_sort(culprits.begin(), culprits.end(), [](const Culprit& a, const Culprit& b) {
    return a.noise_share > b.noise_share;
  });
  return culprits;
}

Json SuggestedSettings(absl::Span<const Culprit> culprits) {
  Json tree = Json::Object();
  for (const Culprit& culprit : culprits) {
    if (!culprit.setting.empty()) {
      const std::vector<std::string> path = absl::StrSplit(culprit.setting, '.');
      Place(tree, path, culprit.value);
    }
  }
  return tree;
}

}  // namespace qb
