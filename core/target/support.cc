#include "core/target/support.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/failure.h"
#include "core/ops/op_def.h"
#include "core/target/constraints.h"

namespace qb {
namespace {

constexpr size_t kMostNamed = 5;

bool IsOperator(OpKind kind) {
  return kind != OpKind::kInput && kind != OpKind::kInputConstant && kind != OpKind::kOutput;
}

}  // namespace

int64_t SupportReport::unsupported_count() const {
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const NodeSupport& support) { return !support.npu(); });
}

SupportReport CheckSupport(const Graph& graph, const TargetSpec& target) {
  SupportReport report;
  for (const Node* node : graph.TopologicalOrder()) {
    if (!IsOperator(node->op())) {
      continue;
    }
    NodeSupport support{node, {}};
    for (const Constraint& constraint : AllConstraints()) {
      const std::optional<std::string> found = constraint.broken_by(*node, target);
      if (found.has_value()) {
        support.reasons.push_back(absl::StrCat(constraint.sentence, "; found: ", *found));
      }
    }
    report.nodes.push_back(std::move(support));
  }
  return report;
}

absl::Status RequireFullSupport(const SupportReport& report, const TargetSpec& target) {
  const int64_t count = report.unsupported_count();
  if (count == 0) {
    return absl::OkStatus();
  }
  std::vector<std::string> lines;
  for (const NodeSupport& support : report.nodes) {
    if (!support.npu() && lines.size() < kMostNamed) {
      lines.push_back(absl::StrCat("node '", support.node->name(), "' (",
                                   OpDefOf(support.node->op()).name,
                                   "): ", absl::StrJoin(support.reasons, ". ")));
    }
  }
  if (count > static_cast<int64_t>(kMostNamed)) {
    lines.push_back(absl::StrCat("and ", count - static_cast<int64_t>(kMostNamed), " more"));
  }
  return Failure(FailureCode::kUnsupportedOperator,
                 absl::StrCat("target ", target.name, " does not run ", count,
                              count == 1 ? " node: " : " nodes: ", absl::StrJoin(lines, "; ")));
}

}  // namespace qb
