#include "core/passes/rewrite.h"

#include <string>
#include <utility>

#include "core/base/status_macros.h"
#include "core/ops/build.h"

namespace qb {

bool IsOnlyUsedBy(const Node& node, const Node& user) {
  return node.users().size() == 1 && node.users()[0] == &user;
}

void TakeOver(Graph& graph, Node* from, Node* to) {
  const std::string name = from->name();
  graph.ReplaceUses(from, to);
  graph.RemoveNode(from);
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
  if (node->users().empty() && node->op() != OpKind::kInput && node->op() != OpKind::kOutput) {
    graph.RemoveNode(node);
  }
}

}  // namespace qb
