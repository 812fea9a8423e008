#include "core/partition/stages.h"

#include <algorithm>
#include <numeric>

#include "core/partition/work.h"

namespace qb {

Stages::Stages(const std::vector<const Node*>& order, const NodeSet& on_npu) {
  for (const Node* node : order) {
    int64_t stage = 0;
    for (const Node* operand : node->operands()) {
      stage = std::max(stage, of(operand));
    }
    const int64_t parity = on_npu.contains(node) ? 1 : 0;
    stage += stage % 2 == parity ? 0 : 1;
    stages_[node] = stage;
    last_ = std::max(last_, stage);
  }
}

int64_t Stages::of(const Node* node) const {
  const auto found = stages_.find(node);
  return found == stages_.end() ? 0 : found->second;
}

std::vector<Island> FindIslands(const std::vector<const Node*>& order, const NodeSet& on_npu,
                                const Stages& stages) {
  absl::flat_hash_map<const Node*, size_t> index;
  for (size_t i = 0; i < order.size(); ++i) {
    index[order[i]] = i;
  }
  // Union-find; the root is the member that comes first.
  std::vector<size_t> parent(order.size());
  std::iota(parent.begin(), parent.end(), size_t{0});
  const auto root = [&](size_t i) {
    while (parent[i] != i) {
      parent[i] = parent[parent[i]];
      i = parent[i];
    }
    return i;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Node* operand : order[i]->operands()) {
      if (on_npu.contains(order[i]) && on_npu.contains(operand) &&
          stages.of(order[i]) == stages.of(operand)) {
        const size_t a = root(i);
        const size_t b = root(index.at(operand));
        parent[std::max(a, b)] = std::min(a, b);
      }
    }
  }
  std::vector<Island> islands;
  absl::flat_hash_map<size_t, size_t> island_of_root;
  for (size_t i = 0; i < order.size(); ++i) {
    if (!on_npu.contains(order[i])) {
      continue;
    }
    const auto [found, added] = island_of_root.emplace(root(i), islands.size());
    if (added) {
      islands.emplace_back();
    }
    islands[found->second].nodes.push_back(order[i]);
    islands[found->second].macs += MacsOf(*order[i]);
  }
  return islands;
}

}  // namespace qb
