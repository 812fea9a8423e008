// Where the layout pass keeps each tensor: which node holds it, with its axes in which order.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

// Source axis i (as in the imported model) is axis map[i] of the stored tensor.
using AxisMap = std::vector<int64_t>;

AxisMap SourceOrder(int64_t rank);
// [N, C, H, W] stored as [N, H, W, C].
AxisMap ChannelLastOrder();
// The stored shape of a tensor of source shape `source`.
Shape StoredShape(const Shape& source, const AxisMap& map);

struct StoredTensor {
  Node* node = nullptr;
  AxisMap map;
};

// Thread-compatible; lives as long as one run of the layout pass.
class StoredLayout {
 public:
  explicit StoredLayout(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }

  // How the tensor that `node` computed in the imported graph is stored now; unless said otherwise
  // in itself, in source order.
  StoredTensor Of(Node* node) const;
  void Set(const Node* node, StoredTensor stored) { stored_[node] = std::move(stored); }
  // The shape of the tensor in source order.
  Shape SourceShape(Node* node) const;

  // The tensor in the order `map`: as it is stored, or through a Transpose (a Reshape when only
  // axes of one element move; another constant for a constant) that all who ask for it share.
  absl::StatusOr<Node*> In(Node* node, const AxisMap& map);
  // Replaces operand `index` of `user` by the tensor in the order `map`.
  absl::Status Use(Node* user, int64_t index, const AxisMap& map);
  // The tensor of source order with axes of one element put before its own, up to `rank`.
  absl::StatusOr<Node*> WithRank(Node* node, int64_t rank);

 private:
  absl::StatusOr<Node*> Convert(const StoredTensor& stored, const std::vector<int64_t>& axes,
                                const AxisMap& map);

  Graph& graph_;
  absl::flat_hash_map<const Node*, StoredTensor> stored_;
  std::map<std::pair<int64_t, std::vector<int64_t>>, Node*> converted_;  // by node id and axes
  std::map<std::pair<int64_t, int64_t>, Node*> widened_;                 // by node id and rank
};

}  // namespace qb
