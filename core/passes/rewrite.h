// The moves that every rewrite is made of.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/graph.h"

namespace qb {

// True when nothing but `user` reads the node, and reads it once.
bool IsOnlyUsedBy(const Node& node, const Node& user);

// `to`, which computes the same tensor, takes the users and the name of `from`, and `from` goes.
void TakeOver(Graph& graph, Node* from, Node* to);

// Adds the operator that replaces `from` (as build.h's AddOp) and lets it take over.
absl::StatusOr<Node*> ReplaceWithOp(Graph& graph, Node* from, OpKind kind,
                                    absl::Span<Node* const> operands,
                                    std::unique_ptr<Attributes> attrs);

// Removes the node unless something still uses it, and then the constants that only it used:
// weights are large, so they go at once and not at the end of a pass.
void RemoveIfUnused(Graph& graph, Node* node);

}  // namespace qb
