// Checks every invariant that passes and writers rely on.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include "core/ir/graph.h"

namespace qb {

// Names unique, def/use consistent, acyclic, arity and inferred types right, constants present and
// of their type, at least one output, output names unique. Errors: Internal "after <where>: node
// 'x' ...".
absl::Status VerifyGraph(const Graph& graph, absl::string_view where);

}  // namespace qb
