#include "core/frontends/onnx/graph_builder.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/execute/evaluate.h"
#include "core/frontends/onnx/move_trim.h"
#include "core/frontends/onnx/onnx_model.h"
#include "core/ops/build.h"
#include "core/ops/selection.h"

namespace qb::onnx_import {

namespace {

// Multiplications or comparisons that a result costs, saturated; what is not listed is about
// linear.
double WorkOf(const Node& node) {
  const auto elements = [](const Shape& shape) { return static_cast<double>(shape.elements()); };
  switch (node.op()) {
    case OpKind::kMatMul: {
      const Shape& a = node.operand(0)->shape();
      return elements(node.shape()) * static_cast<double>(a.rank() > 0 ? a[a.rank() - 1] : 1);
    }
    case OpKind::kConvolution:
    case OpKind::kTransposeConvolution: {
      const Shape& weights = node.operand(1)->shape();
      return elements(node.shape()) * elements(weights) /
             static_cast<double>(std::max<int64_t>(weights[0], 1));
    }
    case OpKind::kNonMaxSuppression:
      return elements(node.operand(1)->shape()) * static_cast<double>(node.operand(0)->shape()[1]);
    case OpKind::kLSTM:
    case OpKind::kGRU:
    case OpKind::kRNN: {
      const Shape& x = node.operand(0)->shape();
      return static_cast<double>(x[0] * x[1]) *
             (elements(node.operand(1)->shape()) + elements(node.operand(2)->shape()));
    }
    default:
      return elements(node.shape());
  }
}

}  // namespace

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
  // Each byte counts once: the weights of a loop's body come again with every step. Bounded,
  // because many weights can lie on the same bytes of one external file.
  if (counted_.insert(value.raw()).second) {
    weight_bytes_ = std::min(weight_bytes_ + value.size_bytes(), int64_t{1} << 50);
  }
  return graph_.AddConstant(name, std::move(value));
}

absl::StatusOr<Node*> GraphBuilder::AddFolded(absl::string_view name, Tensor value) {
  QB_RETURN_IF_ERROR(CheckBudget(value.size_bytes(), 0));
  return graph_.AddConstant(name, std::move(value));
}

absl::StatusOr<Node*> GraphBuilder::Add(OpKind kind, absl::string_view name,
                                        absl::Span<Node* const> operands,
                                        std::unique_ptr<Attributes> attrs) {
  const bool trimmed = kind != OpKind::kTrim &&
                       std::any_of(operands.begin(), operands.end(),
                                   [](const Node* node) { return node->op() == OpKind::kTrim; });
  return trimmed ? AddBelowTrim(kind, name, operands, std::move(attrs))
                 : AddPlain(kind, name, operands, std::move(attrs));
}

absl::StatusOr<Node*> GraphBuilder::AddBelowTrim(OpKind kind, absl::string_view name,
                                                 absl::Span<Node* const> operands,
                                                 std::unique_ptr<Attributes> attrs) {
  QB_ASSIGN_OR_RETURN(const MovedTrim moved, MoveTrim(kind, operands, *attrs));
  QB_ASSIGN_OR_RETURN(Node * padded, AddPlain(kind, absl::StrCat(name, "/padded"), moved.operands,
                                              std::move(attrs)));
  auto trim = std::make_unique<TrimAttrs>();
  trim->axis = moved.axis;
  return AddPlain(OpKind::kTrim, name, {padded, moved.count}, std::move(trim));
}

absl::StatusOr<Node*> GraphBuilder::AddPlain(OpKind kind, absl::string_view name,
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
  if (WorkOf(*node) > kMostFoldedWork) {
    return node;  // stays, as an operator of the graph
  }
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
