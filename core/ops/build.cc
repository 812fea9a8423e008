#include "core/ops/build.h"

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/ops/signature.h"

namespace qb {
namespace {

absl::Status NameNode(const absl::Status& status, OpKind kind, absl::string_view name) {
  return absl::Status(status.code(),
                      absl::StrCat(OpDefOf(kind).name, " '", name, "': ", status.message()));
}

}  // namespace

absl::StatusOr<Node*> AddOp(Graph& graph, OpKind kind, absl::string_view name,
                            absl::Span<Node* const> operands, std::unique_ptr<Attributes> attrs) {
  QB_CHECK(attrs != nullptr);
  QB_CHECK_MSG(AttributesFit(kind, *attrs), OpDefOf(kind).name, " '", name,
               "' is given the attributes of another operator");
  absl::StatusOr<TensorType> type = InferType(kind, operands, *attrs);
  if (!type.ok()) {
    return NameNode(type.status(), kind, name);
  }
  if (kind == OpKind::kOutput) {
    return graph.AddOutput(name, operands[0]);
  }
  return graph.AddNode(kind, name, operands, std::move(attrs), *std::move(type));
}

absl::StatusOr<Node*> AddOp(Graph& graph, OpKind kind, absl::string_view name,
                            absl::Span<Node* const> operands) {
  return AddOp(graph, kind, name, operands, OpDefOf(kind).make_attributes());
}

absl::Status RefreshType(Graph& graph, Node* node) {
  absl::StatusOr<TensorType> type = InferType(node->op(), node->operands(), node->attributes());
  if (!type.ok()) {
    return NameNode(type.status(), node->op(), node->name());
  }
  graph.SetType(node, *std::move(type));
  return absl::OkStatus();
}

}  // namespace qb
