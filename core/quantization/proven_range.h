// What can be said about a value from the graph alone, for every possible input.
#pragma once

#include <limits>

#include "absl/container/flat_hash_map.h"

#include "core/ir/graph.h"

namespace qb {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  bool is_non_negative() const { return low >= 0.0; }
  // The largest magnitude that the value can have; may be infinite.
  double largest_magnitude() const { return high > -low ? high : -low; }
};

// Interval arithmetic over the graph in topological order; float32 nodes only (others stay
// unbounded).
absl::flat_hash_map<const Node*, Interval> ProveRanges(const Graph& graph);

}  // namespace qb
