#include "core/compiler/layer_names.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/spelling.h"
#include "core/quantization/layer_selection.h"

namespace qb {
namespace {

constexpr size_t kMostProblems = 50;

std::vector<std::string> LayerNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node* node : graph.TopologicalOrder()) {
    if (!node->is_constant() && node->op() != OpKind::kOutput) {
      names.push_back(node->name());
    }
  }
  return names;
}

// (field, name or glob) in the order of the schema.
std::vector<std::pair<std::string, std::string>> NamesIn(const CompileConfig& config) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const char* path :
       {"biasCorrection.attributes.applyLayers", "biasCorrection.attributes.excludeLayers",
        "bit.layerOverrides.activation16Bits", "bit.layerOverrides.weight16Bits",
        "bit.layerOverrides.weight8Bits", "bit.layerOverrides.weight4Bits",
        "searchWeightScale.layers"}) {
    for (const std::string& name : config.Strings(path)) {
      wanted.emplace_back(path, name);
    }
  }
  constexpr char kMethods[] = "calibration.layerOverrides.method";
  for (const auto& [name, method] : config.Get(kMethods).members()) {
    wanted.emplace_back(kMethods, name);
  }
  return wanted;
}

}  // namespace

absl::Status CheckLayerNames(const CompileConfig& config, const Graph& graph) {
  const std::vector<std::pair<std::string, std::string>> wanted = NamesIn(config);
  if (wanted.empty()) {
    return absl::OkStatus();
  }
  const std::vector<std::string> names = LayerNames(graph);
  std::vector<std::string> problems;
  for (const auto& [path, pattern] : wanted) {
    const bool matches = std::any_of(
        names.begin(), names.end(),
        [&pattern = pattern](const std::string& name) { return MatchesLayer(pattern, name); });
    if (!matches && problems.size() < kMostProblems) {
      problems.push_back(absl::StrCat(
          path, ": ", Json(pattern).Dump(),
          " matches no layer; nearest: ", absl::StrJoin(NearestWords(pattern, names, 3), ", "),
          " (`qbcompiler layers` lists all)"));
    }
  }
  return problems.empty() ? absl::OkStatus()
                          : Failure(FailureCode::kConfigError, absl::StrJoin(problems, "\n"));
}

}  // namespace qb
