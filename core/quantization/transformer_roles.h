// Which layer of a transformer does what: the projections of attention and the feed-forward layers.
#pragma once

#include <map>
#include <vector>

#include "core/ir/graph.h"

namespace qb {

enum class TransformerRole {
  kQuery,
  kKey,
  kValue,
  kOutput,   // the projection of what attention gives
  kFfnUp,    // widens; with a gate the factor that has no activation
  kFfnGate,  // widens and has the activation; only where its result is multiplied by that of kFfnUp
  kFfnDown,  // narrows, back to the residual sum
  kHead,     // from the last block to the model's outputs
  kRouter,   // of a mixture of experts; none is found, as such models are not compiled
};

// What the settings call a role: "query", "ffn.up", ...
const char* TransformerRoleName(TransformerRole role);

// The layers of a role.
struct RoleLayers {
  std::vector<const Node*> linear;  // with weights, in topological order
  // Values between a widening layer and kFfnDown that are computed from its result.
  std::vector<const Node*> between;
};

// By structure, not by name: attention is a product of two varying values under a softmax, times a
// third one; a feed-forward part leads from a layer with weights over an activation to another one
// whose result is added to what went around. One layer that computes queries, keys and values
// together has all three roles. Empty for graphs without attention.
std::map<TransformerRole, RoleLayers> FindTransformerRoles(const Graph& graph);

}  // namespace qb
