// Which nodes of a graph the NPU of a target runs, and why not the others.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/ir/graph.h"
#include "core/target/target_spec.h"

namespace qb {

struct NodeSupport {
  const Node* node = nullptr;
  // Empty: the NPU runs it. Else one sentence a broken rule, with what was found.
  std::vector<std::string> reasons;
  bool npu() const { return reasons.empty(); }
};

// Operators, and inputs and outputs of the graph that the NPU cannot have, in topological order.
struct SupportReport {
  std::vector<NodeSupport> nodes;
  int64_t unsupported_count() const;
};

// `graph` as core/passes leaves it: channels last.
SupportReport CheckSupport(const Graph& graph, const TargetSpec& target);

// OK when everything runs. Errors: UNSUPPORTED_OPERATOR with every node that does not, a line each
// with its reasons, and what the user can do about it.
absl::Status RequireFullSupport(const SupportReport& report, const TargetSpec& target);

}  // namespace qb
