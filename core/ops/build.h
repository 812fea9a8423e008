// Adding nodes with checked operands and inferred types: the only way that importers and passes
// create operators.
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/graph.h"
#include "core/ops/op_def.h"

namespace qb {

// Checks arity, infers the type and appends the node. Errors: InvalidArgument "op 'name': ...".
absl::StatusOr<Node*> AddOp(Graph& graph, OpKind kind, absl::string_view name,
                            absl::Span<Node* const> operands, std::unique_ptr<Attributes> attrs);

// The same with default attributes, or with a typed struct:
//   AddOp(graph, OpKind::kSlice, "crop", {x}, SliceAttrs{...});
absl::StatusOr<Node*> AddOp(Graph& graph, OpKind kind, absl::string_view name,
                            absl::Span<Node* const> operands);
template <typename A>
requires std::is_base_of_v<Attributes, A> absl::StatusOr<Node*> AddOp(
    Graph& graph, OpKind kind, absl::string_view name, absl::Span<Node* const> operands, A attrs) {
  std::unique_ptr<Attributes> owned = std::make_unique<A>(std::move(attrs));
  return AddOp(graph, kind, name, operands, std::move(owned));
}

// Infers the node's type again after its operands or attributes changed, and sets it.
absl::Status RefreshType(Graph& graph, Node* node);

}  // namespace qb
