#include "core/quantization/transformer_bits.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "core/ops/pointwise_closure.h"
#include "core/quantization/layer_selection.h"

namespace qb {
namespace {

using Roles = std::map<TransformerRole, RoleLayers>;

const RoleLayers& LayersOf(const Roles& roles, TransformerRole role) {
  static const RoleLayers* const kNone = new RoleLayers();
  const auto found = roles.find(role);
  return found == roles.end() ? *kNone : found->second;
}

int BitsOf(const std::map<TransformerRole, int>& bits, TransformerRole role) {
  const auto found = bits.find(role);
  return found == bits.end() ? 8 : found->second;
}

void AddLine(absl::string_view what, TransformerRole role, int bits, size_t layers,
             std::vector<std::string>& lines) {
  const std::string key = absl::StrCat("bit.transformer.", what, ".", TransformerRoleName(role));
  if (layers > 0) {
    lines.push_back(
        absl::StrCat(key, ": ", bits, " bits in ", layers, layers == 1 ? " layer" : " layers"));
  } else if (role !=
             TransformerRole::kFfnGate) {  // one number for `ffn` means a gate if there is one
    lines.push_back(absl::StrCat(key, ": the model has no such layer"));
  }
}

void AddActivations(const Graph& graph, const Roles& roles, const TransformerBits& bits,
                    LayerOverrides& overrides, std::vector<std::string>& lines) {
  const PointwiseClosures closures(graph);
  for (const auto& [role, wanted] : bits.activation) {
    const RoleLayers& layers = LayersOf(roles, role);
    size_t count = 0;
    for (const auto* nodes : {&layers.linear, &layers.between}) {
      for (const Node* node : *nodes) {
        if (!WhyNarrow(*node, closures).empty()) {
          continue;
        }
        ++count;
        if (!MatchesAnyLayer(overrides.activation16, node->name())) {
          overrides.activation16.push_back(node->name());
        }
      }
    }
    AddLine("activation", role, wanted, count, lines);
  }
}

void AddWeights(const Roles& roles, const TransformerBits& bits, LayerOverrides& overrides,
                std::vector<std::string>& lines) {
  std::map<const Node*, int> most;
  std::vector<const Node*> order;  // of roles, then of the graph: names are added alike each time
  for (const auto& [role, layers] : roles) {
    for (const Node* node : layers.linear) {
      const auto [place, is_new] = most.try_emplace(node, 0);
      place->second = std::max(place->second, BitsOf(bits.weight, role));
      if (is_new) {
        order.push_back(node);
      }
    }
  }
  for (const Node* node : order) {
    const bool is_named = MatchesAnyLayer(overrides.weight16, node->name()) ||
                          MatchesAnyLayer(overrides.weight8, node->name()) ||
                          MatchesAnyLayer(overrides.weight4, node->name());
    if (!is_named && most[node] != 8) {
      (most[node] == 16 ? overrides.weight16 : overrides.weight4).push_back(node->name());
    }
  }
  for (const auto& [role, wanted] : bits.weight) {
    AddLine("weight", role, wanted, LayersOf(roles, role).linear.size(), lines);
  }
}

}  // namespace

std::vector<std::string> AddTransformerBits(const Graph& graph, const TransformerBits& bits,
                                            LayerOverrides& overrides) {
  std::vector<std::string> lines;
  if (bits.activation.empty() && bits.weight.empty()) {
    return lines;
  }
  const Roles roles = FindTransformerRoles(graph);
  AddActivations(graph, roles, bits, overrides, lines);
  AddWeights(roles, bits, overrides, lines);
  return lines;
}

std::vector<std::string> LayersOfRoles(const Graph& graph,
                                       const std::vector<TransformerRole>& wanted) {
  const Roles roles = FindTransformerRoles(graph);
  std::vector<std::string> names;
  std::set<const Node*> seen;
  for (const TransformerRole role : wanted) {
    for (const Node* node : LayersOf(roles, role).linear) {
      if (seen.insert(node).second) {
        names.push_back(node->name());
      }
    }
  }
  return names;
}

}  // namespace qb
