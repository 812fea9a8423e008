// Pointwise closures: every maximal subgraph of elementwise work whose only varying source is one
// value. Such a subgraph is a function of one variable, so in int8 it is one lookup table with a
// single rounding, whatever its spelling (x * sigmoid(x), hard swish from clip and mul, scale and
// shift, ...).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "core/ir/graph.h"

namespace qb {

class PointwiseClosures {
 public:
  // Members are pointwise nodes, and elementwise nodes whose operands are scalars that are
  // constant, the closure's source, or members of the same closure; all have the source's shape.
  explicit PointwiseClosures(const Graph& graph);

  // The value that `node` is a function of; null when it is no member.
  const Node* SourceOf(const Node* node) const;
  // True for a member that something outside of its closure uses (an output, another operator).
  bool IsNeededOutside(const Node* node) const;
  // The member as a function of its source, in double precision. Precondition: a member.
  double Evaluate(const Node* node, double source) const;

 private:
  const Node* FindSource(const Node* node) const;
  std::vector<const Node*> Cone(const Node* node) const;

  absl::flat_hash_map<const Node*, const Node*> sources_;
  absl::flat_hash_map<const Node*, int64_t> positions_;  // topological
};

}  // namespace qb
