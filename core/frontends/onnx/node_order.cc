#include "core/frontends/onnx/node_order.h"

#include <functional>
#include <queue>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "core/base/status_macros.h"

namespace qb::onnx_import {
namespace {

constexpr int64_t kNoNode = -1;  // defined by an input or an initializer

std::string Named(const OnnxNode& node) {
  return absl::StrCat("node '", node.DisplayName(), "' (", node.op_type, ")");
}

// Value name -> index of the node that computes it.
using Producers = absl::flat_hash_map<absl::string_view, int64_t>;

absl::Status Define(absl::string_view name, int64_t producer, Producers& producers) {
  if (!producers.emplace(name, producer).second) {
    return absl::InvalidArgumentError(absl::StrCat("value '", name, "' is defined more than once"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Producers> FindProducers(const OnnxGraph& model) {
  Producers producers;
  for (const OnnxValue& input : model.inputs) {
    if (input.name.empty()) {
      return absl::InvalidArgumentError("an input of the graph has no name");
    }
    QB_RETURN_IF_ERROR(Define(input.name, kNoNode, producers));
  }
  for (const OnnxInitializer& initializer : model.initializers) {
    QB_RETURN_IF_ERROR(Define(initializer.name, kNoNode, producers));
  }
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    for (const std::string& output : model.nodes[i].outputs) {
      if (!output.empty()) {
        QB_RETURN_IF_ERROR(Define(output, static_cast<int64_t>(i), producers));
      }
    }
  }
  return producers;
}

// For each node the nodes that it reads from, once per use.
using Edges = std::vector<std::vector<int64_t>>;

absl::StatusOr<Edges> FindEdges(const OnnxGraph& model, const Producers& producers,
                                IsOuterValue is_outer) {
  Edges edges(model.nodes.size());
  for (size_t i = 0; i < model.nodes.size(); ++i) {
    const auto read = [&](const std::string& name) -> absl::Status {
      const auto found = producers.find(name);
      if (found != producers.end() && found->second != kNoNode) {
        edges[i].push_back(found->second);
      }
      if (found != producers.end() || name.empty() || is_outer(name)) {
        return absl::OkStatus();
      }
      return absl::InvalidArgumentError(absl::StrCat(Named(model.nodes[i]), ": input '", name,
                                                     "' is neither an input of the graph, an "
                                                     "initializer, nor the output of a node"));
    };
    for (const std::string& input : model.nodes[i].inputs) {
      QB_RETURN_IF_ERROR(read(input));
    }
    for (const std::string& capture : model.nodes[i].captures) {
      QB_RETURN_IF_ERROR(read(capture));
    }
  }
  return edges;
}

absl::StatusOr<std::vector<int64_t>> Sort(const OnnxGraph& model, const Edges& edges) {
  std::vector<int64_t> missing(edges.size());
  Edges users(edges.size());
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> ready;
  for (size_t i = 0; i < edges.size(); ++i) {
    missing[i] = static_cast<int64_t>(edges[i].size());
    for (const int64_t producer : edges[i]) {
      users[static_cast<size_t>(producer)].push_back(static_cast<int64_t>(i));
    }
    if (missing[i] == 0) {
      ready.push(static_cast<int64_t>(i));
    }
  }
  std::vector<int64_t> order;
  while (!ready.empty()) {
    const int64_t node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int64_t user : users[static_cast<size_t>(node)]) {
      if (--missing[static_cast<size_t>(user)] == 0) {
        ready.push(user);
      }
    }
  }
  for (size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(Named(model.nodes[i]), " depends on its own result"));
    }
  }
  return order;
}

absl::StatusOr<std::vector<bool>> FindLive(const OnnxGraph& model, const Producers& producers,
                                           const Edges& edges, IsOuterValue is_outer) {
  if (model.outputs.empty()) {
    return absl::InvalidArgumentError("the graph has no outputs");
  }
  std::vector<bool> live(edges.size(), false);
  std::vector<int64_t> stack;
  absl::flat_hash_set<absl::string_view> names;
  for (const OnnxValue& output : model.outputs) {
    const auto found = producers.find(output.name);
    const bool outer = found == producers.end() && is_outer(output.name);
    if (found == producers.end() && !outer) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name, "' of the graph is computed by no node"));
    }
    if (!names.insert(output.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("output '", output.name, "' of the graph is listed twice"));
    }
    stack.push_back(outer ? kNoNode : found->second);
  }
  while (!stack.empty()) {
    const int64_t node = stack.back();
    stack.pop_back();
    if (node != kNoNode && !live[static_cast<size_t>(node)]) {
      live[static_cast<size_t>(node)] = true;
      const std::vector<int64_t>& operands = edges[static_cast<size_t>(node)];
      stack.insert(stack.end(), operands.begin(), operands.end());
    }
  }
  return live;
}

}  // namespace

absl::StatusOr<std::vector<const OnnxNode*>> OrderNodes(const OnnxGraph& graph,
                                                        IsOuterValue is_outer) {
  QB_ASSIGN_OR_RETURN(const Producers producers, FindProducers(graph));
  QB_ASSIGN_OR_RETURN(const Edges edges, FindEdges(graph, producers, is_outer));
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> order, Sort(graph, edges));
  QB_ASSIGN_OR_RETURN(const std::vector<bool> live, FindLive(graph, producers, edges, is_outer));
  std::vector<const OnnxNode*> nodes;
  for (const int64_t index : order) {
    if (live[static_cast<size_t>(index)]) {
      nodes.push_back(&graph.nodes[static_cast<size_t>(index)]);
    }
  }
  return nodes;
}

}  // namespace qb::onnx_import
