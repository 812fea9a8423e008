#include "core/target/support.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/ops/op_def.h"
#include "core/target/constraints.h"

namespace qb {
namespace {

bool IsOperator(OpKind kind) {
  return kind != OpKind::kInput && kind != OpKind::kInputConstant && kind != OpKind::kOutput;
}

}  // namespace

int64_t SupportReport::unsupported_count() const {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const NodeSupport& support) { return !support.npu(); });
}

SupportReport CheckSupport(const Graph& graph, const TargetSpec& target) {
  const PointwiseClosures closures(graph);
  const SupportContext context{target, closures};
  SupportReport report;
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->is_constant()) {
      continue;
    }
    NodeSupport support{node, {}};
    for (const Constraint& constraint : AllConstraints()) {
      const std::optional<std::string> found = constraint.broken_by(*node, context);
      if (found.has_value()) {
        support.reasons.push_back(absl::StrCat(constraint.sentence, "; found: ", *found));
      }
    }
    if (IsOperator(node->op()) || !support.npu()) {
      report.nodes.push_back(std::move(support));
    }
  }
  return report;
}

absl::Status RequireFullSupport(const SupportReport& report, const TargetSpec& target) {
  const int64_t count = report.unsupported_count();
  if (count == 0) {
    return absl::OkStatus();
  }
  std::string text = absl::StrCat("target ", target.name, " does not run ", count,
                                  count == 1 ? " layer:" : " layers:");
  for (const NodeSupport& support : report.nodes) {
    if (!support.npu()) {
      absl::StrAppend(&text, "\n  '", support.node->name(), "' (", OpDefOf(support.node->op()).name,
                      "): ", absl::StrJoin(support.reasons, ". "));
    }
  }
  absl::StrAppend(&text,
                  "\nTo run them on the CPU: --cpu-offload with `compile` or `parse`, `cpuOffload: "
                  "true` in the config. To compile without them: `extract-body` writes the part "
                  "that the NPU runs as a model of its own.");
  return Failure(FailureCode::kUnsupportedOperator, text);
}

}  // namespace qb
