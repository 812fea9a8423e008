// The values on the way to the model's outputs that nothing computes with.
//
// They are written by layers ("writers"), moved by reshapes, transposes, slices and concatenations,
// and dequantized. So they can have steps and zero points of their own for each channel: each part
// of a concatenation those that its writer needs, and a writer that rescales by channel one a
// channel.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/ir/graph.h"
#include "core/ops/pointwise_closure.h"
#include "core/quantization/proven_range.h"

namespace qb {

// What an OutputRegion is found in; everything outlives the call.
struct PlannedValues {
  const std::vector<const Node*>& values;  // in topological order
  const PointwiseClosures& closures;
  const absl::flat_hash_set<const Node*>& wide;  // those of 16 bits
  const absl::flat_hash_map<const Node*, Interval>& proven;
};

// Immutable once made.
class OutputRegion {
 public:
  // The places of a value along `axis`, each with the number of its slot: places of one slot, in
  // any values, have one step. Axis -1: all of the value has one.
  struct Layout {
    int64_t axis = -1;
    std::vector<int> slots;
  };

  OutputRegion() = default;
  explicit OutputRegion(const PlannedValues& plan);

  // Writers and what moves their results, in topological order; all int8.
  const std::vector<const Node*>& values() const { return values_; }
  bool contains(const Node* value) const { return members_.contains(value); }
  static bool Moves(const Node& node);
  const Layout& layout(const Node* value) const { return layouts_.at(value); }
  int slots() const { return slots_; }
  // Pairs of slots that are one.
  const std::vector<std::pair<int, int>>& ties() const { return ties_; }
  // The slot of an operand that is no member, by reader and operand number.
  const std::map<std::pair<const Node*, int64_t>, int>& outside() const { return outside_; }

  // Writers whose channels, along the last axis, can have steps of their own.
  const std::vector<const Node*>& channel_writers() const { return channel_writers_; }
  // Arguments of sigmoids that are writers, where nothing else reads them.
  const absl::flat_hash_set<const Node*>& logits() const { return logits_; }

 private:
  void Collect(const PlannedValues& plan);
  Layout LayoutOf(const Node* node, const PlannedValues& plan);
  Layout LayoutOfOperand(const Node* node, int64_t index);
  Layout Transposed(const Node* node, const Layout& from) const;
  Layout Reshaped(const Node* node, const Layout& from);
  Layout Sliced(const Node* node, Layout from) const;
  Layout Joined(const Node* node);
  Layout JoinedAcross(const std::vector<Layout>& parts, int64_t axis);
  Layout NewSlots(int64_t axis, int64_t count);
  Layout OneSlot(const Layout& from);
  void TieAll(const Layout& layout, int slot);

  std::vector<const Node*> values_, channel_writers_;
  absl::flat_hash_set<const Node*> members_, logits_;
  absl::flat_hash_map<const Node*, Layout> layouts_;
  std::map<std::pair<const Node*, int64_t>, int> outside_;
  std::vector<std::pair<int, int>> ties_;
  int slots_ = 0;
};

}  // namespace qb
