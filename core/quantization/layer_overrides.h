// Settings by layer name: how many bits a layer's activations and weights have, and which
// calibration method holds for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"

#include "core/ir/graph.h"
#include "core/ops/pointwise_closure.h"

namespace qb {

// Values of calibration.method.
enum class QuantizationMethod {
  kSeparateScales = 0,  // every value its own scale
  kSharedScales =
      1,  // operands of one add, sub or concat share a scale where their ranges are close
  kSeparateZeroPoints = 2,  // as 0, with the zero point that a value's range asks for
  kSharedZeroPoints = 3,    // as 1, likewise
};
inline bool SharesScales(QuantizationMethod method) {
  return method == QuantizationMethod::kSharedScales ||
         method == QuantizationMethod::kSharedZeroPoints;
}
inline bool HasZeroPoints(QuantizationMethod method) {
  return method == QuantizationMethod::kSeparateZeroPoints ||
         method == QuantizationMethod::kSharedZeroPoints;
}

// Exact names or globs (* and ?), as the config spells them. An exact name wins over globs.
struct LayerOverrides {
  std::vector<std::string> activation16, weight16, weight8, weight4;
  std::map<std::string, int64_t> method;
};

// The same by node.
struct LayerSettings {
  absl::flat_hash_set<const Node*> wide;              // activations of 16 bits; each can be held so
  absl::flat_hash_map<const Node*, int> weight_bits;  // others have 8
  absl::flat_hash_map<const Node*, QuantizationMethod> methods;
  // Layers that a glob named but that stay as they are, with the reason.
  absl::flat_hash_map<const Node*, std::string> notes;

  int WeightBits(const Node* node) const;
};

// What keeps the result of `node` from being int16; empty when nothing does. Convolutions, matrix
// products, additions, subtractions, products, means over rows and columns, model inputs, and
// layers that move elements of such values can be.
std::string WhyNarrow(const Node& node, const PointwiseClosures& closures);

// `graph`: float, channels last. Errors: CONFIG_ERROR with all problems, one a line: a name without
// a match, an exact name of a layer that cannot be what is asked for, a glob none of whose layers
// can, two settings of equal rank for one layer.
absl::StatusOr<LayerSettings> ResolveLayerOverrides(const Graph& graph,
                                                    const PointwiseClosures& closures,
                                                    const LayerOverrides& overrides);

}  // namespace qb
