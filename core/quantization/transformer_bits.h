// Bits by a layer's role in a transformer, made into bits by layer name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/ir/graph.h"
#include "core/quantization/layer_overrides.h"
#include "core/quantization/transformer_roles.h"

namespace qb {

// bit.transformer. Roles that are not there have 8.
struct TransformerBits {
  std::map<TransformerRole, int> activation;  // 16
  std::map<TransformerRole, int> weight;      // 4 or 16
};

// Adds the layers of the roles to `overrides`, by their exact names: results of 16 bits of the
// layers with weights, and of what is computed from them inside a feed-forward part, where they can
// have them; and weights. A layer of several roles has the most bits of them. What `overrides`
// names stays as it says. Returns one line for each role: its layers, or that there are none.
std::vector<std::string> AddTransformerBits(const Graph& graph, const TransformerBits& bits,
                                            LayerOverrides& overrides);

// The names of the layers with weights of these roles.
std::vector<std::string> LayersOfRoles(const Graph& graph,
                                       const std::vector<TransformerRole>& roles);

}  // namespace qb
