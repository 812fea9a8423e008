// Operators of two or more operands with broadcasting.
#include "core/ops/elementwise.h"

#include <array>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"

namespace qb::onnx_import {
namespace {

struct FoldingOp {
  absl::string_view op_type;
  OpKind kind;
};

constexpr auto kOps = std::to_array<FoldingOp>({
    {"Add", OpKind::kAdding},
    {"Div", OpKind::kDiv},
    {"Max", OpKind::kMaximum},
    {"Mean", OpKind::kAdding},
    {"Min", OpKind::kMinimum},
    {"Mul", OpKind::kMultiply},
    {"Sub", OpKind::kSub},
    {"Sum", OpKind::kAdding},
});

absl::StatusOr<OpKind> KindOf(absl::string_view op_type) {
  for (const FoldingOp& row : kOps) {
    if (row.op_type == op_type) {
      return row.kind;
    }
  }
  return absl::InternalError("an elementwise operator without a row");
}

// ((x0 op x1) op x2) ...; the last step has the role `last_role`.
absl::StatusOr<Node*> Chain(NodeImporter& node, absl::string_view last_role) {
  QB_ASSIGN_OR_RETURN(const OpKind kind, KindOf(node.op_type()));
  QB_ASSIGN_OR_RETURN(Node * value, node.Input(0, "data_0"));
  const int64_t count = node.input_count();
  for (int64_t i = 1; i < count; ++i) {
    QB_ASSIGN_OR_RETURN(Node * next, node.Input(i, "data"));
    const std::string role = i + 1 == count ? std::string(last_role) : absl::StrCat(i);
    QB_ASSIGN_OR_RETURN(value, node.Add(role, kind, {value, next}));
  }
  return value;
}
// In float64, rounded towards zero as a cast does.
absl::Status PowerOfInteger(NodeImporter& node, Node* base, Node* exponent) {
  const DType dtype = base->type().dtype;
  QB_ASSIGN_OR_RETURN(base, node.AddCast("base", base, DType::kFloat64));
  QB_ASSIGN_OR_RETURN(exponent, node.AddCast("exponent", exponent, DType::kFloat64));
  QB_ASSIGN_OR_RETURN(Node * power, node.Add("power", OpKind::kPow, {base, exponent}));
  return node.Finish(node.AddCast("", power, dtype));
}

}  // namespace

absl::Status ImportBinary(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const OpKind kind, KindOf(node.op_type()));
  QB_ASSIGN_OR_RETURN(Node * a, node.Input(0, "A"));
  QB_ASSIGN_OR_RETURN(Node * b, node.Input(1, "B"));
  return node.Finish(node.Add("", kind, {a, b}));
}

absl::Status ImportVariadic(NodeImporter& node) { return node.Finish(Chain(node, "")); }

absl::Status ImportMean(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * sum, Chain(node, "sum"));
  const auto count = static_cast<double>(node.input_count());
  QB_ASSIGN_OR_RETURN(Node * divisor, node.AddScalar("count", sum->type().dtype, count));
  return node.Finish(node.Add("", OpKind::kDiv, {sum, divisor}));
}

absl::Status ImportPow(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * base, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(Node * exponent, node.Input(1, "Y"));
  const DType dtype = base->type().dtype;
  if (exponent->type().dtype !=
      dtype) {  // allowed since opset 12; the result is of the base's type
    if (!IsFloat(dtype) && IsFloat(exponent->type().dtype)) {
      return PowerOfInteger(node, base, exponent);
    }
    QB_ASSIGN_OR_RETURN(exponent, node.AddCast("exponent", exponent, dtype));
  }
  return node.Finish(node.Add("", OpKind::kPow, {base, exponent}));
}

}  // namespace qb::onnx_import
