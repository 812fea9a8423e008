// The limits of a target, one small function each, with the sentence that a user reads.
//
// These are also the limits of core/quantization: what passes here has an integer form there, which
// tests/support holds for every operator.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/node.h"
#include "core/ops/pointwise_closure.h"
#include "core/target/target_spec.h"

namespace qb {

// What a rule may look at besides the node.
struct SupportContext {
  const TargetSpec& target;
  const PointwiseClosures& closures;  // of the node's graph
};

struct Constraint {
  absl::string_view name;
  absl::string_view sentence;  // the rule, for messages and for the documentation
  // What was found where the node breaks the rule ("kernel 65x1"), nullopt where it keeps it. The
  // node is an operator, or an input or output of the graph.
  std::optional<std::string> (*broken_by)(const Node& node, const SupportContext& context);
};

// In the order in which reasons are listed.
absl::Span<const Constraint> AllConstraints();

}  // namespace qb
