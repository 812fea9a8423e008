// Graph: nodes, ordered inputs and outputs. It keeps def/use, names and order right; it does not
// know what operators mean (core/ops adds nodes with inferred types: see core/ops/build.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/ir/node.h"

namespace qb {

// Movable owner. Thread-compatible: concurrent const use is fine.
class Graph {
 public:
  explicit Graph(std::string name = "graph") : name_(std::move(name)) {}
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  const std::string& name() const { return name_; }

  // Appends a node. `name` is made unique by a suffix "_<n>" when taken or empty. Precondition: the
  // operands belong to this graph. Prefer ops::Add, which infers `type`.
  Node* AddNode(OpKind op, absl::string_view name, absl::Span<Node* const> operands,
                std::unique_ptr<Attributes> attrs, TensorType type);
  Node* AddInput(absl::string_view name, TensorType type);
  Node* AddConstant(absl::string_view name, Tensor value);
  // An output named `name`; the name is kept as it is (an output may bear the name of a node).
  Node* AddOutput(absl::string_view name, Node* value);

  // In declared order.
  absl::Span<Node* const> inputs() const { return inputs_; }
  absl::Span<Node* const> outputs() const { return outputs_; }  // kOutput nodes
  // All live nodes by id (creation order), not necessarily topological after rewrites.
  std::vector<Node*> nodes() const;
  // Operands before users; ties by id, so the order is a function of the graph alone.
  std::vector<Node*> TopologicalOrder() const;
  // Null when there is none. Output nodes are not found by name.
  Node* FindNode(absl::string_view name) const;
  int64_t node_count() const { return static_cast<int64_t>(nodes_.size()); }

  // Every use of `from` (but those by `except`) becomes a use of `to`.
  void ReplaceUses(Node* from, Node* to, const Node* except = nullptr);
  void ReplaceOperand(Node* user, int64_t index, Node* to);
  // Precondition: no users, not an input or an output.
  void RemoveNode(Node* node);
  // Removes nodes that no output needs; inputs stay. Returns how many went.
  int64_t RemoveDeadNodes();
  // The node takes `name` (made unique). Other nodes keep theirs.
  void Rename(Node* node, absl::string_view name);
  // For rewrites that change a node's attributes in a way that changes its type.
  void SetType(Node* node, TensorType type) { node->type_ = std::move(type); }
  // For a node that the graph owns but a caller holds const.
  Node* Mutable(const Node* node) { return const_cast<Node*>(node); }

  // A deep copy; constants share their bytes. Ids are compacted in topological order.
  Graph Clone() const;

 private:
  std::string UniqueName(absl::string_view wanted);
  void RemoveUser(Node* operand, const Node* user);

  std::string name_;
  int64_t next_id_ = 0;
  std::map<int64_t, std::unique_ptr<Node>> nodes_;
  std::map<std::string, Node*, std::less<>> by_name_;
  std::map<std::string, int64_t, std::less<>> next_suffix_;
  std::vector<Node*> inputs_;
  std::vector<Node*> outputs_;
};

}  // namespace qb
