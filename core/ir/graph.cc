#include "core/ir/graph.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace qb {

std::string Graph::UniqueName(absl::string_view wanted) {
  std::string name(wanted.empty() ? absl::string_view("node") : wanted);
  if (!wanted.empty() && by_name_.find(name) == by_name_.end()) {
    return name;
  }
  int64_t& suffix = next_suffix_[name];
  while (true) {
    std::string candidate = absl::StrCat(name, "_", ++suffix);
    if (by_name_.find(candidate) == by_name_.end()) {
      return candidate;
    }
  }
}

Node* Graph::AddNode(OpKind op, absl::string_view name, absl::Span<Node* const> operands,
                     std::unique_ptr<Attributes> attrs, TensorType type) {
  QB_CHECK(attrs != nullptr);
  std::unique_ptr<Node> node(new Node());
  node->op_ = op;
  node->id_ = next_id_++;
  node->name_ = op == OpKind::kOutput ? std::string(name) : UniqueName(name);
  node->type_ = std::move(type);
  node->operands_.assign(operands.begin(), operands.end());
  node->attrs_ = std::move(attrs);
  for (Node* operand : node->operands_) {
    operand->users_.push_back(node.get());
  }
  Node* raw = node.get();
  if (op != OpKind::kOutput) {
    by_name_[raw->name_] = raw;
  }
  nodes_[raw->id_] = std::move(node);
  return raw;
}

Node* Graph::AddInput(absl::string_view name, TensorType type) {
  Node* node = AddNode(OpKind::kInput, name, {}, std::make_unique<NoAttrs>(), std::move(type));
  inputs_.push_back(node);
  return node;
}

Node* Graph::AddConstant(absl::string_view name, Tensor value) {
  Node* node =
      AddNode(OpKind::kInputConstant, name, {}, std::make_unique<NoAttrs>(), value.type());
  node->constant_ = std::move(value);
  return node;
}

Node* Graph::AddOutput(absl::string_view name, Node* value) {
  Node* node =
      AddNode(OpKind::kOutput, name, {value}, std::make_unique<NoAttrs>(), value->type());
  outputs_.push_back(node);
  return node;
}

std::vector<Node*> Graph::nodes() const {
  std::vector<Node*> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& [id, node] : nodes_) {
    nodes.push_back(node.get());
  }
  return nodes;
}

std::vector<Node*> Graph::TopologicalOrder() const {
  // Kahn's algorithm with a heap on ids.
  absl::flat_hash_map<const Node*, int64_t> missing;
  const auto later = [](const Node* a, const Node* b) { return a->id() > b->id(); };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> ready(later);
  for (const auto& [id, node] : nodes_) {
    missing[node.get()] = node->operand_count();
    if (node->operand_count() == 0) {
      ready.push(node.get());
    }
  }
  std::vector<Node*> order;
  order.reserve(nodes_.size());
  while (!ready.empty()) {
    Node* node = ready.top();
    ready.pop();
    order.push_back(node);
    for (Node* user : node->users()) {
      if (--missing[user] == 0) {
        ready.push(user);
      }
    }
  }
  QB_CHECK_MSG(order.size() == nodes_.size(), "graph '", name_, "' has a cycle");
  return order;
}

Node* Graph::FindNode(absl::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

void Graph::RemoveUser(Node* operand, const Node* user) {
  const auto found = std::find(operand->users_.begin(), operand->users_.end(), user);
  QB_CHECK(found != operand->users_.end());
  operand->users_.erase(found);
}

void Graph::ReplaceUses(Node* from, Node* to, const Node* except) {
  QB_CHECK(from != to);
  const std::vector<Node*> users = from->users_;
  for (Node* user : users) {
    if (user == except) {
      continue;
    }
    for (int64_t i = 0; i < user->operand_count(); ++i) {
      if (user->operand(i) == from) {
        ReplaceOperand(user, i, to);
      }
    }
  }
}

void Graph::ReplaceOperand(Node* user, int64_t index, Node* to) {
  Node*& slot = user->operands_[static_cast<size_t>(index)];
  RemoveUser(slot, user);
  slot = to;
  to->users_.push_back(user);
}

void Graph::RemoveNode(Node* node) {
  QB_CHECK_MSG(node->users_.empty(), "node '", node->name(), "' is used");
  QB_CHECK(node->op() != OpKind::kInput && node->op() != OpKind::kOutput);
  for (Node* operand : node->operands_) {
    RemoveUser(operand, node);
  }
  by_name_.erase(node->name_);
  nodes_.erase(node->id_);
}

int64_t Graph::RemoveDeadNodes() {
  absl::flat_hash_set<const Node*> live;
  std::vector<const Node*> stack(outputs_.begin(), outputs_.end());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (live.insert(node).second) {
      stack.insert(stack.end(), node->operands().begin(), node->operands().end());
    }
  }
  std::vector<Node*> order = TopologicalOrder();
  int64_t removed = 0;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!live.contains(*it) && (*it)->op() != OpKind::kInput) {
      RemoveNode(*it);
      ++removed;
    }
  }
  return removed;
}

void Graph::Rename(Node* node, absl::string_view name) {
  QB_CHECK(node->op() != OpKind::kOutput);
  by_name_.erase(node->name_);
  node->name_ = UniqueName(name);
  by_name_[node->name_] = node;
}

Graph Graph::Clone() const {
  Graph copy(name_);
  absl::flat_hash_map<const Node*, Node*> mapped;
  for (const Node* node : TopologicalOrder()) {
    std::vector<Node*> operands;
    operands.reserve(node->operands().size());
    for (const Node* operand : node->operands()) {
      operands.push_back(mapped.at(operand));
    }
    Node* added =
        copy.AddNode(node->op(), node->name(), operands, node->attrs_->Clone(), node->type());
    added->constant_ = node->constant_;
    mapped[node] = added;
  }
  for (const Node* input : inputs_) {
    copy.inputs_.push_back(mapped.at(input));
  }
  for (const Node* output : outputs_) {
    copy.outputs_.push_back(mapped.at(output));
  }
  return copy;
}

}  // namespace qb
