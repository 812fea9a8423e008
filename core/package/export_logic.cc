// Comparisons, choices, searches, and operators that select as many elements as the values say.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/ops/logic.h"
#include "core/ops/op_def.h"
#include "core/ops/search.h"
#include "core/ops/selection.h"
#include "core/package/graph_exporter.h"

namespace qb {
namespace {

std::vector<std::string> PlainOperands(GraphExporter& out, const Node& node) {
  std::vector<std::string> operands;
  for (const Node* operand : node.operands()) {
    operands.push_back(out.Plain(operand));
  }
  return operands;
}

void SetPlain(GraphExporter& out, const Node& node, absl::string_view op,
              const std::vector<std::string>& operands,
              const std::vector<NamedAttr>& attributes = {}) {
  out.Set(&node, false, out.builder().AddNode(op, node.name(), operands, attributes));
}

int64_t Flag(bool value) { return value ? 1 : 0; }

}  // namespace

absl::Status ExportTensorCmp(GraphExporter& out, const Node& node) {
  const std::vector<std::string> operands = PlainOperands(out, node);
  OnnxBuilder& builder = out.builder();
  switch (node.attrs<TensorCmpAttrs>().kind) {
    case CmpKind::kEqual:
      SetPlain(out, node, "Equal", operands);
      break;
    case CmpKind::kNotEqual:
      SetPlain(out, node, "Not",
               {builder.AddNode("Equal", absl::StrCat(node.name(), "/equal"), operands)});
      break;
    case CmpKind::kLess:
      SetPlain(out, node, "Less", operands);
      break;
    case CmpKind::kLessEqual:
      SetPlain(out, node, "LessOrEqual", operands);
      break;
    case CmpKind::kGreater:
      SetPlain(out, node, "Greater", operands);
      break;
    case CmpKind::kGreaterEqual:
      SetPlain(out, node, "GreaterOrEqual", operands);
      break;
  }
  return absl::OkStatus();
}

absl::Status ExportLogical(GraphExporter& out, const Node& node) {
  constexpr const char* kNames[] = {"And", "Or", "Xor", "Not"};
  SetPlain(out, node, kNames[static_cast<size_t>(node.attrs<LogicalAttrs>().kind)],
           PlainOperands(out, node));
  return absl::OkStatus();
}

absl::Status ExportWhere(GraphExporter& out, const Node& node) {
  SetPlain(out, node, "Where", PlainOperands(out, node));
  return absl::OkStatus();
}

absl::Status ExportMod(GraphExporter& out, const Node& node) {
  SetPlain(out, node, "Mod", PlainOperands(out, node),
           {{"fmod", Flag(node.attrs<ModAttrs>().fmod)}});
  return absl::OkStatus();
}

absl::Status ExportArg(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<ArgAttrs>();
  SetPlain(out, node, OpDefOf(node.op()).name, {out.Plain(node.operand(0))},
           {{"axis", attrs.axis},
            {"keepdims", Flag(attrs.keep_dims)},
            {"select_last_index", Flag(attrs.select_last)}});
  return absl::OkStatus();
}

absl::Status ExportCumSum(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<CumSumAttrs>();
  const std::string axis = out.builder().AddConstant(absl::StrCat(node.name(), "/axis"),
                                                     Tensor::OfInt64s({}, {attrs.axis}));
  SetPlain(out, node, "CumSum", {out.Plain(node.operand(0)), axis},
           {{"exclusive", Flag(attrs.exclusive)}, {"reverse", Flag(attrs.reverse)}});
  return absl::OkStatus();
}

// In ONNX the result has as many rows as were selected, so what cuts it here is nothing there.
absl::Status ExportNonMaxSuppression(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<NonMaxSuppressionAttrs>();
  OnnxBuilder& builder = out.builder();
  std::vector<std::string> operands = PlainOperands(out, node);
  operands.push_back(
      builder.AddInt64s(absl::StrCat(node.name(), "/most"), {attrs.max_output_size}));
  operands.push_back(
      builder.AddFloats(absl::StrCat(node.name(), "/iou"), {1}, {attrs.iou_threshold}));
  if (attrs.use_score_threshold) {
    operands.push_back(
        builder.AddFloats(absl::StrCat(node.name(), "/score"), {1}, {attrs.score_threshold}));
  }
  SetPlain(out, node, "NonMaxSuppression", operands,
           {{"center_point_box", Flag(attrs.center_point_box)}});
  return absl::OkStatus();
}

absl::Status ExportTrim(GraphExporter& out, const Node& node) {
  const Node* value = node.operand(0);
  const Node* count = node.operand(1);
  const bool of_its_own_length = value->op() == OpKind::kNonMaxSuppression &&
                                 count->op() == OpKind::kCountUsed && count->operand(0) == value;
  if (!of_its_own_length) {
    return NoOnnxForm(node, "a value whose length the run decides, other than selected boxes");
  }
  out.Set(&node, false, out.Plain(value));
  return absl::OkStatus();
}

absl::Status ExportCountUsed(GraphExporter& out, const Node& node) {
  for (const Node* user : node.users()) {
    if (user->op() != OpKind::kTrim) {
      return NoOnnxForm(node, "a count that something else than cutting uses");
    }
  }
  out.Set(&node, false, "");  // the Trim above needs no count
  return absl::OkStatus();
}

}  // namespace qb
