#include "core/frontends/onnx/graph_builder.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/execute/evaluate.h"
#include "core/frontends/onnx/onnx_model.h"
#include "core/ops/build.h"

namespace qb::onnx_import {

absl::Status GraphBuilder::CheckBudget(int64_t result_bytes, int64_t operand_bytes) {
  if (result_bytes > std::max(kMostFoldedBytes, operand_bytes)) {
    return absl::ResourceExhaustedError(absl::StrCat("the constant result has ", result_bytes,
                                                     " bytes; at most ", kMostFoldedBytes,
                                                     " are computed at import"));
  }
  folded_bytes_ += result_bytes;
  if (folded_bytes_ > kMostFoldedBytesInAll + 4 * weight_bytes_) {
    return absl::ResourceExhaustedError(absl::StrCat("the constants computed at import exceed ",
                                                     kMostFoldedBytesInAll + 4 * weight_bytes_,
                                                     " bytes"));
  }
  return absl::OkStatus();
}

Node* GraphBuilder::AddInitializer(absl::string_view name, Tensor value) {
  // Bounded, because many weights can lie on the same bytes of one external file.
  weight_bytes_ = std::min(weight_bytes_ + value.size_bytes(), int64_t{1} << 50);
  return graph_.AddConstant(name, std::move(value));
}

absl::StatusOr<Node*> GraphBuilder::AddFolded(absl::string_view name, Tensor value) {
  QB_RETURN_IF_ERROR(CheckBudget(value.size_bytes(), 0));
  return graph_.AddConstant(name, std::move(value));
}

absl::StatusOr<Node*> GraphBuilder::Add(OpKind kind, absl::string_view name,
                                        absl::Span<Node* const> operands,
                                        std::unique_ptr<Attributes> attrs) {
  QB_ASSIGN_OR_RETURN(Node * node, AddOp(graph_, kind, name, operands, std::move(attrs)));
  if (node->shape().rank() > static_cast<int64_t>(kMostRank)) {
    return absl::UnimplementedError(absl::StrCat("the result has rank ", node->shape().rank(),
                                                 "; at most ", kMostRank, " is supported"));
  }
  const bool constant = std::all_of(operands.begin(), operands.end(),
                                    [](const Node* operand) { return operand->is_constant(); });
  return constant ? Fold(node) : absl::StatusOr<Node*>(node);
}

absl::StatusOr<Node*> GraphBuilder::Fold(Node* node) {
  std::vector<Tensor> values;
  int64_t operand_bytes = 0;
  for (const Node* operand : node->operands()) {
    values.push_back(operand->constant());
    operand_bytes += operand->constant().size_bytes();
  }
  QB_RETURN_IF_ERROR(CheckBudget(node->type().size_bytes(), operand_bytes));
  absl::StatusOr<Tensor> result = EvaluateNode(*node, values);
  if (!result.ok() && result.status().code() == absl::StatusCode::kUnimplemented) {
    return node;  // stays; the executor says what it cannot do if the node is ever run
  }
  QB_RETURN_IF_ERROR(result.status());
  const std::string name = node->name();
  graph_.RemoveNode(node);
  return graph_.AddConstant(name, *std::move(result));
}

}  // namespace qb::onnx_import
