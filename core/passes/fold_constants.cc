#include "core/passes/fold_constants.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/execute/evaluate.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

bool IsFoldable(const Node& node, const FoldConstantsOptions& options) {
  // What is left of a Trim may be smaller than its type says, which its users do not expect.
  if (node.op() == OpKind::kOutput || node.op() == OpKind::kTrim || node.operand_count() == 0) {
    return false;
  }
  int64_t operand_bytes = 0;
  for (const Node* operand : node.operands()) {
    if (!operand->is_constant()) {
      return false;
    }
    operand_bytes += operand->type().size_bytes();
  }
  return node.type().size_bytes() <= std::max(options.most_result_bytes, operand_bytes);
}

}  // namespace

absl::StatusOr<bool> FoldConstants(Graph& graph, const FoldConstantsOptions& options) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (!IsFoldable(*node, options)) {
      continue;
    }
    std::vector<Tensor> operands;
    for (const Node* operand : node->operands()) {
      operands.push_back(operand->constant());
    }
    absl::StatusOr<Tensor> value = EvaluateNode(*node, operands);
    if (absl::IsUnimplemented(value.status())) {
      continue;
    }
    if (!value.ok()) {
      return absl::Status(value.status().code(),
                          absl::StrCat("node '", node->name(), "': ", value.status().message()));
    }
    TakeOver(graph, node, graph.AddConstant(node->name(), *std::move(value)));
    changed = true;
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
