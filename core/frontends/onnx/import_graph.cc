#include "core/frontends/onnx/import_graph.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/frontends/onnx/graph_builder.h"
#include "core/frontends/onnx/importers/all_importers.h"
#include "core/frontends/onnx/input_types.h"
#include "core/frontends/onnx/node_importer.h"
#include "core/frontends/onnx/node_order.h"

namespace qb::onnx_import {
namespace {

// "com.microsoft.FusedConv", "Conv".
std::string QualifiedType(const OnnxNode& node) {
  return node.domain.empty() ? node.op_type : absl::StrCat(node.domain, ".", node.op_type);
}

bool IsSupported(const OnnxNode& node, int64_t opset) {
  const OpImporter* importer = node.domain.empty() ? FindImporter(node.op_type) : nullptr;
  return importer != nullptr && importer->first_opset <= opset && opset <= importer->last_opset;
}

struct Occurrence {
  int64_t count = 0;
  std::string first;
};

std::string ListOperators(const std::map<std::string, Occurrence>& missing) {
  constexpr size_t kMostShown = 100;  // real models lack a handful
  std::string list;
  size_t shown = 0;
  for (const auto& [type, occurrence] : missing) {
    if (shown == kMostShown) {
      absl::StrAppend(&list, " and ", missing.size() - shown, " more");
      break;
    }
    absl::StrAppend(&list, shown++ == 0 ? "" : ", ", type, " (", occurrence.count,
                    "x, first node '", occurrence.first, "')");
  }
  return list;
}

void CollectMissing(const OnnxNode& node, int64_t opset,
                    std::map<std::string, Occurrence>& missing) {
  if (!IsSupported(node, opset)) {
    Occurrence& occurrence = missing[QualifiedType(node)];
    if (occurrence.count++ == 0) {
      occurrence.first = node.DisplayName();
    }
  }
}

// All operators that are missing, each with how often and where it occurs first. Bodies of If and
// the like are looked at when they are imported: a branch that is never taken may hold anything.
absl::Status CheckOperators(const std::vector<const OnnxNode*>& nodes, int64_t opset) {
  std::map<std::string, Occurrence> missing;
  for (const OnnxNode* node : nodes) {
    CollectMissing(*node, opset, missing);
  }
  if (missing.empty()) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(absl::StrCat("operators that are not supported (opset ", opset,
                                               "): ", ListOperators(missing)));
}

// Names of all values that some node or output reads, with the number of reads.
absl::flat_hash_map<std::string, int64_t> CountUses(const OnnxGraph& graph,
                                                    const std::vector<const OnnxNode*>& nodes) {
  absl::flat_hash_map<std::string, int64_t> uses;
  for (const OnnxNode* node : nodes) {
    for (const std::string& input : node->inputs) {
      ++uses[input];
    }
    for (const std::string& capture : node->captures) {
      ++uses[capture];
    }
  }
  for (const OnnxValue& output : graph.outputs) {
    ++uses[output.name];
  }
  return uses;
}

// Nodes that bodies may become in all: a loop of a few bytes can ask for any number.
constexpr int64_t kMostBodyNodes = int64_t{1} << 16;

// Imports the graph and, through NodeImporter::ImportBody, the bodies inside it.
class GraphImporter {
 public:
  GraphImporter(int64_t opset, GraphBuilder& builder) : opset_(opset), builder_(builder) {
    import_body_ = [this](const OnnxGraph& body, absl::Span<Node* const> inputs,
                          const Values& outer) { return ImportBody(body, inputs, outer); };
  }

  // The nodes in `order`, whose operands `values` has or gets.
  absl::Status ImportNodes(const OnnxGraph& graph, const std::vector<const OnnxNode*>& order,
                           Values& values) {
    const absl::flat_hash_map<std::string, int64_t> uses = CountUses(graph, order);
    for (const OnnxInitializer& initializer : graph.initializers) {
      if (uses.contains(initializer.name)) {
        values.Set(initializer.name, builder_.AddInitializer(initializer.name, initializer.value));
      }
    }
    for (const OnnxNode* node : order) {
      QB_RETURN_IF_ERROR(ImportNode(*node, uses, values));
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ImportNode(const OnnxNode& node,
                          const absl::flat_hash_map<std::string, int64_t>& uses, Values& values) {
    NodeImporter importer(node, opset_, values, builder_, import_body_);
    absl::Status status = FindImporter(node.op_type)->import(importer);
    if (status.ok()) {
      status = importer.CheckAllRead(uses);
    }
    if (status.ok()) {
      return status;
    }
    return absl::Status(status.code(), absl::StrCat("node '", node.DisplayName(), "' (",
                                                    node.op_type, "): ", status.message()));
  }

  absl::StatusOr<std::vector<Node*>> ImportBody(const OnnxGraph& body,
                                                absl::Span<Node* const> inputs,
                                                const Values& outer) {
    if (inputs.size() != body.inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("body '", body.graph_name, "' has ",
                                                     body.inputs.size(), " inputs, it gets ",
                                                     inputs.size()));
    }
    QB_ASSIGN_OR_RETURN(
        const std::vector<const OnnxNode*> order,
        OrderNodes(body, [&](absl::string_view name) { return outer.contains(name); }));
    // Also those that no output needs: they are looked at each time.
    body_nodes_ += static_cast<int64_t>(body.nodes.size()) + 1;
    if (body_nodes_ > kMostBodyNodes) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "the bodies of If, Loop and Scan become more than ", kMostBodyNodes, " nodes"));
    }
    QB_RETURN_IF_ERROR(CheckOperators(order, opset_));
    Values values(&outer);
    for (size_t i = 0; i < inputs.size(); ++i) {
      values.Set(body.inputs[i].name, inputs[i]);
    }
    QB_RETURN_IF_ERROR(ImportNodes(body, order, values));
    std::vector<Node*> outputs;
    for (const OnnxValue& output : body.outputs) {
      outputs.push_back(values.Find(output.name));
      if (outputs.back() == nullptr) {
        return absl::UnimplementedError(
            absl::StrCat("output '", output.name, "' of a body is not supported"));
      }
    }
    return outputs;
  }

  const int64_t opset_;
  GraphBuilder& builder_;
  ImportBodyFunction import_body_;
  int64_t body_nodes_ = 0;
};

// Turns the inputs that `constants` names into initializers.
absl::Status MakeConstant(const std::map<std::string, Tensor>& constants, OnnxModel& model) {
  for (const auto& constant : constants) {
    const std::string& name = constant.first;
    const Tensor& value = constant.second;
    const auto found = std::find_if(model.inputs.begin(), model.inputs.end(),
                                    [&](const OnnxValue& input) { return input.name == name; });
    if (found == model.inputs.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no input '", name, "' to make constant"));
    }
    if (found->dtype != value.dtype()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", name, "' is ", found->type_name,
                                                     ", its constant value is ",
                                                     value.type().ToString()));
    }
    model.inputs.erase(found);
    model.initializers.push_back({name, value});
  }
  return absl::OkStatus();
}

absl::Status AddOutputs(const OnnxModel& model, const Values& values, Graph& graph) {
  for (const OnnxValue& output : model.outputs) {
    Node* const value = values.Find(output.name);
    if (value == nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("output '", output.name, "' of the graph is not supported"));
    }
    const DType computed = value->type().dtype;
    if (output.dtype != DType::kUndefined && output.dtype != computed) {
      return absl::InvalidArgumentError(absl::StrCat("output '", output.name, "' is declared as ",
                                                     DTypeName(output.dtype),
                                                     ", the graph computes ", DTypeName(computed)));
    }
    graph.AddOutput(output.name, value);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Graph> ImportGraph(OnnxModel& model, const ImportOptions& options) {
  QB_RETURN_IF_ERROR(MakeConstant(options.constant_inputs, model));
  QB_ASSIGN_OR_RETURN(const std::vector<const OnnxNode*> nodes,
                      OrderNodes(model, [](absl::string_view) { return false; }));
  QB_RETURN_IF_ERROR(CheckOperators(nodes, model.opset));
  QB_ASSIGN_OR_RETURN(const std::vector<TensorType> input_types, ResolveInputTypes(model, options));
  GraphBuilder builder(model.graph_name);
  Values values;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    values.Set(model.inputs[i].name,
               builder.graph().AddInput(model.inputs[i].name, input_types[i]));
  }
  QB_RETURN_IF_ERROR(GraphImporter(model.opset, builder).ImportNodes(model, nodes, values));
  QB_RETURN_IF_ERROR(AddOutputs(model, values, builder.graph()));
  builder.graph().RemoveDeadNodes();
  return std::move(builder.graph());
}

}  // namespace qb::onnx_import
