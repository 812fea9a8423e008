// The limits of a target, one small function each, with the sentence that a user reads.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "core/ir/node.h"
#include "core/target/target_spec.h"

namespace qb {

struct Constraint {
  absl::string_view name;
  absl::string_view sentence;  // the rule, for messages and for the documentation
  // What was found where the node breaks the rule ("kernel 65x1"), nullopt where it keeps it.
  std::optional<std::string> (*broken_by)(const Node& node, const TargetSpec& target);
};

// In the order in which reasons are listed.
absl::Span<const Constraint> AllConstraints();

}  // namespace qb
