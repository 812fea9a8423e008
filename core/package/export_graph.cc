#include "core/package/export_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"
#include "core/package/graph_exporter.h"

namespace qb {
namespace {

struct ExportRow {
  OpKind op;
  absl::Status (*write)(GraphExporter& out, const Node& node);
};

// Besides pointwise operators.
constexpr auto kRows = std::to_array<ExportRow>({
    {OpKind::kCast, ExportCast},
    {OpKind::kConvolution, ExportConvolution},
    {OpKind::kTransposeConvolution, ExportTransposeConvolution},
    {OpKind::kMatMul, ExportMatMul},
    {OpKind::kAdding, ExportElementwise},
    {OpKind::kSub, ExportElementwise},
    {OpKind::kMultiply, ExportElementwise},
    {OpKind::kDiv, ExportElementwise},
    {OpKind::kPow, ExportElementwise},
    {OpKind::kMaximum, ExportElementwise},
    {OpKind::kMinimum, ExportElementwise},
    {OpKind::kPRelu, ExportPRelu},
    {OpKind::kBatchnorm, ExportBatchnorm},
    {OpKind::kSoftmax, ExportSoftmax},
    {OpKind::kPooling, ExportPooling},
    {OpKind::kGlobalAveragePooling, ExportGlobalPooling},
    {OpKind::kReduceMean, ExportReduce},
    {OpKind::kReduceSum, ExportReduce},
    {OpKind::kReduceMax, ExportReduce},
    {OpKind::kReduceMin, ExportReduce},
    {OpKind::kReduceProd, ExportReduce},
    {OpKind::kLayerNormalization, ExportLayerNormalization},
    {OpKind::kRmsNormalization, ExportRmsNormalization},
    {OpKind::kTensorCmp, ExportTensorCmp},
    {OpKind::kLogical, ExportLogical},
    {OpKind::kWhere, ExportWhere},
    {OpKind::kMod, ExportMod},
    {OpKind::kArgMax, ExportArg},
    {OpKind::kArgMin, ExportArg},
    {OpKind::kCumSum, ExportCumSum},
    {OpKind::kNonMaxSuppression, ExportNonMaxSuppression},
    {OpKind::kCountUsed, ExportCountUsed},
    {OpKind::kTrim, ExportTrim},
    {OpKind::kReshape, ExportReshape},
    {OpKind::kTranspose, ExportTranspose},
    {OpKind::kConcatenate, ExportConcatenate},
    {OpKind::kSlice, ExportSlice},
    {OpKind::kPad, ExportPad},
    {OpKind::kExpand, ExportExpand},
    {OpKind::kGather, ExportGather},
    {OpKind::kGatherElements, ExportGatherElements},
    {OpKind::kGatherND, ExportGatherND},
    {OpKind::kScatterElements, ExportScatterElements},
    {OpKind::kScatterND, ExportScatterND},
    {OpKind::kResize, ExportResize},
    {OpKind::kDepthToSpace, ExportDepthSpace},
    {OpKind::kSpaceToDepth, ExportDepthSpace},
});

absl::Status ExportNode(GraphExporter& out, const Node& node) {
  if (IsPointwise(node.op())) {
    return ExportPointwise(out, node);
  }
  for (const ExportRow& row : kRows) {
    if (row.op == node.op()) {
      return row.write(out, node);
    }
  }
  return NoOnnxForm(node, "the operator has no form in plain ONNX here");
}

}  // namespace

absl::Status NoOnnxForm(const Node& node, absl::string_view what) {
  return Failure(
      FailureCode::kUnsupportedOperator,
      absl::StrCat("export: layer '", node.name(), "' (", OpDefOf(node.op()).name, "): ", what));
}

std::string GraphExporter::Plain(const Node* node) {
  if (node->is_constant() && !values_.HasPlain(node)) {
    values_.SetPlain(node, builder_.AddConstant(node->name(), node->constant()));
  }
  return values_.Plain(node);
}

std::string GraphExporter::ChannelsFirst(const Node* node) {
  if (node->is_constant() && !values_.HasChannelsFirst(node)) {
    values_.SetChannelsFirst(
        node, builder_.AddConstant(node->name(), PermuteAxes(node->constant(), {0, 3, 1, 2})));
  }
  return values_.ChannelsFirst(node);
}

bool GraphExporter::PrefersChannelsFirst(const Node& node) const {
  bool any = false;
  for (const Node* operand : node.operands()) {
    if (operand->shape().rank() > 4 || (!operand->is_constant() && operand->shape().rank() != 4)) {
      return false;
    }
    if (!operand->is_constant()) {
      if (!values_.HasChannelsFirst(operand)) {
        return false;
      }
      any = true;
    }
  }
  return any && node.shape().rank() == 4;
}

std::string GraphExporter::BroadcastChannelsFirst(const Node* node) {
  if (!node->is_constant()) {
    return ChannelsFirst(node);
  }
  if (node->shape().elements() == 1) {
    return Plain(node);
  }
  return builder_.AddConstant(node->name(), PermuteAxes(ToRank4(node->constant()), {0, 3, 1, 2}));
}

void GraphExporter::Set(const Node* node, bool channels_first, std::string value) {
  if (channels_first) {
    values_.SetChannelsFirst(node, std::move(value));
  } else {
    values_.SetPlain(node, std::move(value));
  }
}

std::string GraphExporter::Activated(const Activation& activation, std::string value) {
  switch (activation.kind) {
    case ActivationKind::kNone:
      return value;
    case ActivationKind::kRelu:
      return builder_.AddNode("Relu", absl::StrCat(value, "/relu"), {value});
    case ActivationKind::kClip:
      return builder_.AddNode(
          "Clip", absl::StrCat(value, "/clip"),
          {value, builder_.AddFloats(absl::StrCat(value, "/min"), {}, {activation.min}),
           builder_.AddFloats(absl::StrCat(value, "/max"), {}, {activation.max})});
  }
  return value;
}

absl::StatusOr<std::vector<std::string>> ExportGraph(const Graph& graph,
                                                     const std::vector<std::string>& inputs,
                                                     OnnxBuilder& builder) {
  QB_CHECK(inputs.size() == graph.inputs().size());
  GraphExporter exporter(builder);
  for (size_t i = 0; i < inputs.size(); ++i) {
    exporter.values().SetPlain(graph.inputs()[i], inputs[i]);
  }
  std::vector<std::string> outputs(graph.outputs().size());
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kInput || node->op() == OpKind::kOutput || node->is_constant()) {
      continue;
    }
    QB_RETURN_IF_ERROR(ExportNode(exporter, *node));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = exporter.Plain(graph.outputs()[i]->operand(0));
  }
  return outputs;
}

absl::StatusOr<std::string> GraphToPlainOnnx(const Graph& graph) {
  OnnxBuilder builder(graph.name(), kPlainOpset);
  for (const Node* output : graph.outputs()) {
    builder.Reserve(output->name());
  }
  std::vector<std::string> inputs;
  for (const Node* input : graph.inputs()) {
    builder.Reserve(input->name());
    inputs.push_back(builder.AddInput(input->name(), input->type()));
  }
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> outputs, ExportGraph(graph, inputs, builder));
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.AddOutput(graph.outputs()[i]->name(), outputs[i], graph.outputs()[i]->type());
  }
  return builder.Finish();
}

}  // namespace qb
