// Comparisons, logic, bits, remainders and Where.
#include "core/ops/logic.h"

#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/importers/all_importers.h"

namespace qb::onnx_import {
namespace {

struct CmpRow {
  absl::string_view op_type;
  CmpKind kind;
};
constexpr auto kComparisons = std::to_array<CmpRow>({
    {"Equal", CmpKind::kEqual},
    {"Greater", CmpKind::kGreater},
    {"GreaterOrEqual", CmpKind::kGreaterEqual},
    {"Less", CmpKind::kLess},
    {"LessOrEqual", CmpKind::kLessEqual},
});

struct LogicRow {
  absl::string_view op_type;
  LogicKind kind;
};
constexpr auto kLogic = std::to_array<LogicRow>({
    {"And", LogicKind::kAnd},
    {"Or", LogicKind::kOr},
    {"Xor", LogicKind::kXor},
});

struct BitRow {
  absl::string_view op_type;
  BitKind kind;
};
constexpr auto kBits = std::to_array<BitRow>({
    {"BitwiseAnd", BitKind::kAnd},
    {"BitwiseOr", BitKind::kOr},
    {"BitwiseXor", BitKind::kXor},
});

// Precondition: the table that called has the operator.
template <typename Rows>
auto KindOf(const Rows& rows, absl::string_view op_type) {
  for (const auto& row : rows) {
    if (row.op_type == op_type) {
      return row.kind;
    }
  }
  return rows.front().kind;
}

template <typename A>
absl::Status FinishBinary(NodeImporter& node, OpKind kind, A attrs) {
  QB_ASSIGN_OR_RETURN(Node * a, node.Input(0, "A"));
  QB_ASSIGN_OR_RETURN(Node * b, node.Input(1, "B"));
  return node.Finish(node.Add("", kind, {a, b}, std::move(attrs)));
}

}  // namespace

absl::Status ImportComparison(NodeImporter& node) {
  TensorCmpAttrs attrs;
  attrs.kind = KindOf(kComparisons, node.op_type());
  return FinishBinary(node, OpKind::kTensorCmp, std::move(attrs));
}

absl::Status ImportLogical(NodeImporter& node) {
  LogicalAttrs attrs;
  attrs.kind = KindOf(kLogic, node.op_type());
  return FinishBinary(node, OpKind::kLogical, std::move(attrs));
}

absl::Status ImportNot(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  LogicalAttrs attrs;
  attrs.kind = LogicKind::kNot;
  return node.Finish(node.Add("", OpKind::kLogical, {input}, std::move(attrs)));
}

absl::Status ImportBitwise(NodeImporter& node) {
  BitwiseAttrs attrs;
  attrs.kind = KindOf(kBits, node.op_type());
  return FinishBinary(node, OpKind::kBitwise, std::move(attrs));
}

absl::Status ImportBitwiseNot(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  if (!IsInteger(input->type().dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the operand is ", input->type().ToString(), "; an integer is accepted"));
  }
  Tensor ones = Tensor::Allocate({input->type().dtype, Shape{}});
  std::memset(ones.mutable_raw(), 0xff, static_cast<size_t>(ones.size_bytes()));
  QB_ASSIGN_OR_RETURN(Node * all_bits, node.AddConstant("ones", std::move(ones)));
  BitwiseAttrs attrs;
  attrs.kind = BitKind::kXor;
  return node.Finish(node.Add("", OpKind::kBitwise, {input, all_bits}, std::move(attrs)));
}

absl::Status ImportBitShift(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(const std::string direction, node.StringAttr("direction", ""));
  if (direction != "LEFT" && direction != "RIGHT") {
    return absl::InvalidArgumentError(
        absl::StrCat("direction is '", direction, "'; LEFT and RIGHT are accepted"));
  }
  QB_ASSIGN_OR_RETURN(const Node* value, node.Input(0, "X"));
  const DType dtype = value->type().dtype;
  if (dtype != DType::kUint8 && dtype != DType::kUint16 && dtype != DType::kUint32 &&
      dtype != DType::kUint64) {
    return absl::InvalidArgumentError(
        absl::StrCat("X is ", value->type().ToString(), "; an unsigned type is accepted"));
  }
  BitwiseAttrs attrs;
  attrs.kind = direction == "LEFT" ? BitKind::kShiftLeft : BitKind::kShiftRight;
  return FinishBinary(node, OpKind::kBitwise, std::move(attrs));
}

absl::Status ImportMod(NodeImporter& node) {
  ModAttrs attrs;
  QB_ASSIGN_OR_RETURN(attrs.fmod, node.BoolAttr("fmod", false));
  return FinishBinary(node, OpKind::kMod, std::move(attrs));
}

absl::Status ImportWhere(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * condition, node.Input(0, "condition"));
  QB_ASSIGN_OR_RETURN(Node * x, node.Input(1, "X"));
  QB_ASSIGN_OR_RETURN(Node * y, node.Input(2, "Y"));
  return node.Finish(node.Add("", OpKind::kWhere, {condition, x, y}));
}

// A number is NaN when it differs from itself.
absl::Status ImportIsNaN(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * input, node.Input(0, "X"));
  TensorCmpAttrs attrs;
  attrs.kind = CmpKind::kNotEqual;
  return node.Finish(node.Add("", OpKind::kTensorCmp, {input, input}, std::move(attrs)));
}

absl::Status ImportIsInf(NodeImporter& node) {
  QB_ASSIGN_OR_RETURN(Node * value, node.Input(0, "X"));
  QB_ASSIGN_OR_RETURN(const bool negative, node.BoolAttr("detect_negative", true));
  QB_ASSIGN_OR_RETURN(const bool positive, node.BoolAttr("detect_positive", true));
  if (positive && negative) {
    QB_ASSIGN_OR_RETURN(value, node.Add("magnitude", OpKind::kAbs, {value}));
  }
  double searched = std::numeric_limits<double>::infinity();
  if (!positive) {  // nothing equals NaN: neither sign is looked for
    searched = negative ? -searched : std::numeric_limits<double>::quiet_NaN();
  }
  QB_ASSIGN_OR_RETURN(Node * infinity, node.AddScalar("infinity", value->type().dtype, searched));
  return node.Finish(node.Add("", OpKind::kTensorCmp, {value, infinity}, TensorCmpAttrs()));
}

}  // namespace qb::onnx_import
