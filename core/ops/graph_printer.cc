#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/ops/constant_text.h"
#include "core/ops/graph_text.h"
#include "core/ops/op_def.h"
#include "core/ops/text_tokens.h"

namespace qb {
namespace {

// " {a=1, b=2}" of the fields that differ from their defaults, or nothing.
std::string AttributesToken(const Node& node) {
  const std::vector<NamedAttr> defaults = OpDefOf(node.op()).make_attributes()->Fields();
  const std::vector<NamedAttr> fields = node.attributes().Fields();
  std::vector<std::string> parts;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i >= defaults.size() || fields[i] != defaults[i]) {
      parts.push_back(absl::StrCat(fields[i].name, "=", AttrToken(fields[i].value)));
    }
  }
  return parts.empty() ? "" : absl::StrCat(" {", absl::StrJoin(parts, ", "), "}");
}

std::string NodeLine(const Node& node, const GraphTextOptions& options) {
  std::string line = absl::StrCat("  ", NameToken(node.name()), " = ", OpDefOf(node.op()).name);
  if (node.op() == OpKind::kInput) {
    return absl::StrCat(line, " ", node.type().ToString(), "\n");
  }
  if (node.is_constant()) {
    return absl::StrCat(line, " ", node.type().ToString(), " ",
                        ConstantToken(node.constant(), options.most_values), "\n");
  }
  const auto append_name = [](std::string* out, const Node* operand) {
    *out += NameToken(operand->name());
  };
  absl::StrAppend(&line, "(", absl::StrJoin(node.operands(), ", ", append_name), ")",
                  AttributesToken(node));
  if (node.op() != OpKind::kOutput) {
    absl::StrAppend(&line, "  // ", node.type().ToString());
  }
  return line + "\n";
}

}  // namespace

std::string GraphToText(const Graph& graph, const GraphTextOptions& options) {
  std::string text = absl::StrCat("graph ", QuotedToken(graph.name()), " {\n");
  // Inputs first and outputs last, in declared order: the order of the lines is the declaration.
  for (const Node* input : graph.inputs()) {
    text += NodeLine(*input, options);
  }
  for (const Node* node : graph.TopologicalOrder()) {
    if (node->op() != OpKind::kInput && node->op() != OpKind::kOutput) {
      text += NodeLine(*node, options);
    }
  }
  for (const Node* output : graph.outputs()) {
    text += NodeLine(*output, options);
  }
  return text + "}\n";
}

}  // namespace qb
