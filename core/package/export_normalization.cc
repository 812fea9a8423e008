// Normalizations by statistics of the sample itself.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/ops/normalization.h"
#include "core/package/graph_exporter.h"

namespace qb {

absl::Status ExportLayerNormalization(GraphExporter& out, const Node& node) {
  using Attrs = LayerNormalizationAttrs;
  const auto& attrs = node.attrs<Attrs>();
  std::vector<std::string> operands = {out.Plain(node.operand(Attrs::kInput)),
                                       out.Plain(node.operand(Attrs::kScale))};
  if (node.operand_count() > Attrs::kBias) {
    operands.push_back(out.Plain(node.operand(Attrs::kBias)));
  }
  out.Set(&node, false,
          out.builder().AddNode("LayerNormalization", node.name(), operands,
                                {{"axis", attrs.axis}, {"epsilon", attrs.epsilon}}));
  return absl::OkStatus();
}

// x / sqrt(mean(x^2) + epsilon) * scale.
absl::Status ExportRmsNormalization(GraphExporter& out, const Node& node) {
  const auto& attrs = node.attrs<RmsNormalizationAttrs>();
  OnnxBuilder& builder = out.builder();
  const std::string& name = node.name();
  const std::string x = out.Plain(node.operand(0));
  std::vector<int64_t> axes;
  for (int64_t axis = attrs.axis; axis < node.shape().rank(); ++axis) {
    axes.push_back(axis);
  }
  const std::string square = builder.AddNode("Mul", absl::StrCat(name, "/square"), {x, x});
  const NamedAttr keep = {"keepdims", int64_t{1}};
  const std::string mean =
      builder.opset() >= 18
          ? builder.AddNode("ReduceMean", absl::StrCat(name, "/mean"),
                            {square, builder.AddInt64s(absl::StrCat(name, "/axes"), axes)}, {keep})
          : builder.AddNode("ReduceMean", absl::StrCat(name, "/mean"), {square},
                            {keep, {"axes", axes}});
  const std::string shifted = builder.AddNode(
      "Add", absl::StrCat(name, "/shifted"),
      {mean, builder.AddFloats(absl::StrCat(name, "/epsilon"), {}, {attrs.epsilon})});
  const std::string root = builder.AddNode("Sqrt", absl::StrCat(name, "/root"), {shifted});
  const std::string normal = builder.AddNode("Div", absl::StrCat(name, "/normal"), {x, root});
  out.Set(&node, false, builder.AddNode("Mul", name, {normal, out.Plain(node.operand(1))}));
  return absl::OkStatus();
}

}  // namespace qb
