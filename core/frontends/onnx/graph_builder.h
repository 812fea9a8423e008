// Adds nodes to the graph and folds those whose operands are all constants.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/graph.h"

namespace qb::onnx_import {

// Bytes that folding may produce: one result beyond the size of its operands, and all in all beyond
// four times the weights. A few bytes of model can ask for any amount (ConstantOfShape, Expand).
inline constexpr int64_t kMostFoldedBytes = int64_t{1} << 28;
inline constexpr int64_t kMostFoldedBytesInAll = int64_t{1} << 29;
// Multiplications of one result: seconds of a plain loop.
inline constexpr double kMostFoldedWork = 4e9;

// One thread at a time.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string graph_name) : graph_(std::move(graph_name)) {}

  Graph& graph() { return graph_; }

  // A weight of the model.
  Node* AddInitializer(absl::string_view name, Tensor value);
  // A value computed at import. Errors: ResourceExhausted beyond the limits above.
  absl::StatusOr<Node*> AddFolded(absl::string_view name, Tensor value);

  // As qb::AddOp, within kMostRank; a node whose operands are all constants becomes a constant of
  // the same name. An operator on a value whose extent only the run knows (Trim) works on all of it
  // and is trimmed itself; Unimplemented when its result would not have that extent.
  absl::StatusOr<Node*> Add(OpKind kind, absl::string_view name, absl::Span<Node* const> operands,
                            std::unique_ptr<Attributes> attrs);

 private:
  absl::StatusOr<Node*> AddPlain(OpKind kind, absl::string_view name,
                                 absl::Span<Node* const> operands,
                                 std::unique_ptr<Attributes> attrs);
  absl::StatusOr<Node*> AddBelowTrim(OpKind kind, absl::string_view name,
                                     absl::Span<Node* const> operands,
                                     std::unique_ptr<Attributes> attrs);
  absl::Status CheckBudget(int64_t result_bytes, int64_t operand_bytes);
  absl::StatusOr<Node*> Fold(Node* node);

  Graph graph_;
  absl::flat_hash_set<const void*> counted_;  // where the weights lie
  int64_t weight_bytes_ = 0;
  int64_t folded_bytes_ = 0;
};

}  // namespace qb::onnx_import
