#include "core/partition/part_graph.h"

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/base/check.h"

namespace qb {
namespace {

// The nodes that the outputs need, without those that the inputs stand for.
absl::flat_hash_set<const Node*> NeededNodes(const CutOut& cut) {
  const absl::flat_hash_set<const Node*> inputs(cut.inputs.begin(), cut.inputs.end());
  absl::flat_hash_set<const Node*> needed;
  std::vector<const Node*> waiting(cut.outputs.begin(), cut.outputs.end());
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    if (inputs.contains(node) || !needed.insert(node).second) {
      continue;
    }
    QB_CHECK_MSG(node->op() != OpKind::kInput, "'", node->name(), "' is no input of the cut");
    waiting.insert(waiting.end(), node->operands().begin(), node->operands().end());
  }
  return needed;
}

}  // namespace

Graph CutOutGraph(const Graph& graph, const CutOut& cut) {
  const absl::flat_hash_set<const Node*> needed = NeededNodes(cut);
  Graph result(cut.name);
  absl::flat_hash_map<const Node*, Node*> copies;
  for (const Node* input : cut.inputs) {
    copies[input] = result.AddInput(input->name(), input->type());
  }
  for (const Node* node : graph.TopologicalOrder()) {
    if (!needed.contains(node)) {
      continue;
    }
    if (node->is_constant()) {
      copies[node] = result.AddConstant(node->name(), node->constant());
      continue;
    }
    std::vector<Node*> operands;
    for (const Node* operand : node->operands()) {
      operands.push_back(copies.at(operand));
    }
    copies[node] = result.AddNode(node->op(), node->name(), operands, node->attributes().Clone(),
                                  node->type());
  }
  for (const Node* output : cut.outputs) {
    result.AddOutput(output->name(), copies.at(output));
  }
  return result;
}

}  // namespace qb
