// Where numbers can be passed from a layer to the layers behind it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/graph.h"
#include "core/quantization/equivalent/equivalent_transformation.h"

namespace qb {

// The channels (last axis) of `value` can be divided by any positive numbers: `producer` takes the
// divisors for its outputs, `consumers`, all that read the value, the numbers for their inputs.
struct ScalingPlace {
  const char* kind = "";
  Node* value = nullptr;
  Node* producer = nullptr;
  std::vector<int64_t> producer_channel;  // by channel of `value`; each at most once
  std::vector<Node*> consumers;
};

// The product of `query` and `key` stays when channel i of the one is multiplied by what channel
// partner[i] of the other is divided by; partner -1: a channel that is not part of it.
struct ProductPlace {
  Node* product = nullptr;
  Node* query = nullptr;
  Node* key = nullptr;
  std::vector<int64_t> partner;
};

// In topological order of the values. No place shares a producer's channel with another one of its
// kind.
std::vector<ScalingPlace> FindScalingPlaces(Graph& graph, const EquivalentOptions& options);
std::vector<ProductPlace> FindProductPlaces(Graph& graph);

}  // namespace qb
