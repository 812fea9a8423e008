// The order of the devices: stages 0, 2, 4, ... are of the CPU, 1, 3, 5, ... of the NPU. Internal
// to core/partition.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/ir/graph.h"

namespace qb {

using NodeSet = absl::flat_hash_set<const Node*>;

// Each operator in the earliest stage of its device that is not before those of its operands, so a
// stage reads from earlier stages only. Inputs and constants are in stage 0, outputs in none.
class Stages {
 public:
  // `order`: the operators in topological order.
  Stages(const std::vector<const Node*>& order, const NodeSet& on_npu);

  int64_t of(const Node* node) const;
  int64_t last() const { return last_; }

 private:
  absl::flat_hash_map<const Node*, int64_t> stages_;
  int64_t last_ = 0;
};

// NPU nodes of one stage that are joined by edges within it.
struct Island {
  std::vector<const Node*> nodes;  // in topological order
  int64_t macs = 0;
};
// In order of their first nodes.
std::vector<Island> FindIslands(const std::vector<const Node*>& order, const NodeSet& on_npu,
                                const Stages& stages);

}  // namespace qb
