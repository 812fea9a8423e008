#include "core/compiler/extra_outputs.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/spelling.h"
#include "core/quantization/layer_selection.h"

namespace qb {
namespace {

bool IsLayer(const Node& node) { return !node.is_constant() && node.op() != OpKind::kOutput; }

}  // namespace

std::vector<std::string> WantedExtraOutputs(const CompileConfig& config) {
  return config.Bool("extraOutput.apply") ? config.Strings("extraOutput.layers")
                                          : std::vector<std::string>();
}

std::vector<std::string> AddExtraOutputs(const std::vector<std::string>& wanted, Graph& graph) {
  if (wanted.empty()) {
    return {};
  }
  absl::flat_hash_set<std::string> taken;
  absl::flat_hash_set<std::string> matched;
  for (const Node* output : graph.outputs()) {
    taken.insert(output->name());
    for (const std::string& pattern : wanted) {
      if (pattern == output->name()) {
        matched.insert(pattern);
      }
    }
  }
  for (Node* node : graph.TopologicalOrder()) {
    if (!IsLayer(*node)) {
      continue;
    }
    for (const std::string& pattern : wanted) {
      if (MatchesLayer(pattern, node->name())) {
        matched.insert(pattern);
        if (taken.insert(node->name()).second) {
          graph.AddOutput(node->name(), node);
        }
      }
    }
  }
  std::vector<std::string> missing;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(missing),
               [&](const std::string& pattern) { return !matched.contains(pattern); });
  return missing;
}

absl::Status RequireNoneMissing(const std::vector<std::string>& missing, const Graph& graph) {
  if (missing.empty()) {
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const Node* node : graph.TopologicalOrder()) {
    if (IsLayer(*node)) {
      names.push_back(node->name());
    }
  }
  std::vector<std::string> problems;
  problems.reserve(missing.size());
  for (const std::string& pattern : missing) {
    problems.push_back(absl::StrCat(
        "extraOutput.layers: '", pattern, "' matches no layer; nearest: ",
        absl::StrJoin(NearestWords(pattern, names, 3), ", "), " (`qbcompiler layers` lists all)"));
  }
  return Failure(FailureCode::kConfigError, absl::StrJoin(problems, "\n"));
}

}  // namespace qb
