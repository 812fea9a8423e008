#include "core/passes/rewrite.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/build.h"

namespace qb {

bool IsOnlyUsedBy(const Node& node, const Node& user) {
  return node.users().size() == 1 && node.users()[0] == &user;
}

void TakeOver(Graph& graph, Node* from, Node* to) {
  const std::string name = from->name();
  graph.ReplaceUses(from, to);
  RemoveIfUnused(graph, from);
  graph.Rename(to, name);
}

absl::StatusOr<Node*> ReplaceWithOp(Graph& graph, Node* from, OpKind kind,
                                    absl::Span<Node* const> operands,
                                    std::unique_ptr<Attributes> attrs) {
  QB_ASSIGN_OR_RETURN(Node * node, AddOp(graph, kind, from->name(), operands, std::move(attrs)));
  TakeOver(graph, from, node);
  return node;
}

void RemoveIfUnused(Graph& graph, Node* node) {
  if (!node->users().empty() || node->op() == OpKind::kInput || node->op() == OpKind::kOutput) {
    return;
  }
  std::vector<Node*> constants;
  for (Node* operand : node->operands()) {
    const bool listed = std::find(constants.begin(), constants.end(), operand) != constants.end();
    if (operand->is_constant() && !listed) {
      constants.push_back(operand);
    }
  }
  graph.RemoveNode(node);
  for (Node* constant : constants) {
    if (constant->users().empty()) {
      graph.RemoveNode(constant);
    }
  }
}

}  // namespace qb
