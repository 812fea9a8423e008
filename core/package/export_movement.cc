// Operators that move elements.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/indexing.h"
#include "core/ops/movement.h"
#include "core/package/graph_exporter.h"

namespace qb {
namespace {

using Ints = std::vector<int64_t>;

// As Slice wants the end of a backward slice that includes element 0.
constexpr int64_t kBeforeFirst = INT64_MIN + 1;

}  // namespace

absl::Status ExportReshape(GraphExporter& out, const Node& node) {
  OnnxBuilder& builder = out.builder();
  const std::string shape =
      builder.AddInt64s(absl::StrCat(node.name(), "/shape"), node.shape().dims());
  // A dimension of 0 is one, not a copy of the operand's.
  out.Set(&node, false,
          builder.opset() >= 14
              ? builder.AddNode("Reshape", node.name(), {out.Plain(node.operand(0)), shape},
                                {{"allowzero", int64_t{1}}})
              : builder.AddNode("Reshape", node.name(), {out.Plain(node.operand(0)), shape}));
  return absl::OkStatus();
}

absl::Status ExportTranspose(GraphExporter& out, const Node& node) {
  const Node* operand = node.operand(0);
  const Ints& axes = node.attrs<TransposeAttrs>().transpose_axes;
  if (axes == Ints{0, 3, 1, 2} && out.values().HasChannelsFirst(operand)) {
    out.Set(&node, false, out.values().ChannelsFirst(operand));
    return absl::OkStatus();
  }
  if (axes == Ints{0, 2, 3, 1} && (operand->is_constant() || out.values().HasPlain(operand))) {
    out.Set(&node, true, out.Plain(operand));
    return absl::OkStatus();
  }
  out.Set(&node, false,
          out.builder().AddNode("Transpose", node.name(), {out.Plain(operand)}, {{"perm", axes}}));
  return absl::OkStatus();
}

absl::Status ExportConcatenate(GraphExporter& out, const Node& node) {
  const int64_t axis = node.attrs<ConcatenateAttrs>().axis;
  const bool first = out.PrefersChannelsFirst(node);
  std::vector<std::string> operands;
  for (const Node* operand : node.operands()) {
    operands.push_back(first ? out.ChannelsFirst(operand) : out.Plain(operand));
  }
  out.Set(&node, first,
          out.builder().AddNode("Concat", node.name(), operands,
                                {{"axis", first ? ChannelsFirstAxis(axis) : axis}}));
  return absl::OkStatus();
}

absl::Status ExportSlice(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<SliceAttrs>();
  const bool first = out.PrefersChannelsFirst(node);
  Ints axes = attrs.axis;
  Ints ends = attrs.end;
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = first ? ChannelsFirstAxis(axes[i]) : axes[i];
    ends[i] = attrs.step[i] < 0 && ends[i] < 0 ? kBeforeFirst : ends[i];
  }
  OnnxBuilder& builder = out.builder();
  const Node* operand = node.operand(0);
  const auto ints = [&](const char* what, const Ints& values) {
    return builder.AddInt64s(absl::StrCat(node.name(), "/", what), values);
  };
  out.Set(&node, first,
          builder.AddNode(
              "Slice", node.name(),
              {first ? out.ChannelsFirst(operand) : out.Plain(operand), ints("starts", attrs.start),
               ints("ends", ends), ints("axes", axes), ints("steps", attrs.step)}));
  return absl::OkStatus();
}

absl::Status ExportPad(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<PadAttrs>();
  const bool first = out.PrefersChannelsFirst(node);
  Ints pads = attrs.padding_list;
  if (first) {
    pads = {pads[0], pads[3], pads[1], pads[2], pads[4], pads[7], pads[5], pads[6]};
  }
  OnnxBuilder& builder = out.builder();
  const Node* operand = node.operand(0);
  std::vector<std::string> operands = {first ? out.ChannelsFirst(operand) : out.Plain(operand),
                                       builder.AddInt64s(absl::StrCat(node.name(), "/pads"), pads)};
  if (attrs.pad_mode == PadMode::kConstant) {
    if (node.type().dtype == DType::kFloat32) {
      operands.push_back(
          builder.AddFloats(absl::StrCat(node.name(), "/value"), {}, {attrs.constant}));
    } else if (attrs.constant != 0.0f) {
      return NoOnnxForm(node, "padding of another type than float32 with another value than 0");
    }
  }
  out.Set(&node, first,
          builder.AddNode("Pad", node.name(), operands,
                          {{"mode", std::string(NameOfEnum(attrs.pad_mode))}}));
  return absl::OkStatus();
}

absl::Status ExportExpand(GraphExporter& out, const Node& node) {
  out.Set(&node, false,
          out.builder().AddNode(
              "Expand", node.name(),
              {out.Plain(node.operand(0)),
               out.builder().AddInt64s(absl::StrCat(node.name(), "/shape"), node.shape().dims())}));
  return absl::OkStatus();
}

absl::Status ExportGather(GraphExporter& out, const Node& node) {
  out.Set(&node, false,
          out.builder().AddNode("Gather", node.name(),
                                {out.Plain(node.operand(0)), out.Plain(node.operand(1))},
                                {{"axis", node.attrs<GatherAttrs>().axis}}));
  return absl::OkStatus();
}

namespace {

void ExportIndexed(GraphExporter& out, const Node& node, absl::string_view op,
                   const std::vector<NamedAttr>& attributes) {
  std::vector<std::string> operands;
  for (const Node* operand : node.operands()) {
    operands.push_back(out.Plain(operand));
  }
  out.Set(&node, false, out.builder().AddNode(op, node.name(), operands, attributes));
}

// Reductions came with opset 16, max and min with 18.
absl::Status CheckReduction(const GraphExporter& out, const Node& node,
                            ScatterReduction reduction) {
  const bool extreme = reduction == ScatterReduction::kMax || reduction == ScatterReduction::kMin;
  if (reduction != ScatterReduction::kNone && out.opset() < (extreme ? 18 : 16)) {
    return NoOnnxForm(node, absl::StrCat("reduction ", NameOfEnum(reduction),
                                         " is not part of operator set ", out.opset()));
  }
  return absl::OkStatus();
}

std::vector<NamedAttr> ReductionAttributes(ScatterReduction reduction) {
  if (reduction == ScatterReduction::kNone) {
    return {};
  }
  return {{"reduction", std::string(NameOfEnum(reduction))}};
}

}  // namespace

absl::Status ExportGatherElements(GraphExporter& out, const Node& node) {
  ExportIndexed(out, node, "GatherElements", {{"axis", node.attrs<GatherAttrs>().axis}});
  return absl::OkStatus();
}

absl::Status ExportGatherND(GraphExporter& out, const Node& node) {
  ExportIndexed(out, node, "GatherND", {{"batch_dims", node.attrs<GatherNDAttrs>().batch_dims}});
  return absl::OkStatus();
}

absl::Status ExportScatterElements(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<ScatterElementsAttrs>();
  QB_RETURN_IF_ERROR(CheckReduction(out, node, attrs.reduction));
  std::vector<NamedAttr> attributes = ReductionAttributes(attrs.reduction);
  attributes.push_back({"axis", attrs.axis});
  ExportIndexed(out, node, "ScatterElements", attributes);
  return absl::OkStatus();
}

absl::Status ExportScatterND(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<ScatterNDAttrs>();
  QB_RETURN_IF_ERROR(CheckReduction(out, node, attrs.reduction));
  ExportIndexed(out, node, "ScatterND", ReductionAttributes(attrs.reduction));
  return absl::OkStatus();
}

}  // namespace qb
