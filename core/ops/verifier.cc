#include "core/ops/verifier.h"

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/op_def.h"
#include "core/ops/signature.h"

namespace qb {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, absl::string_view where)
      : graph_(graph), where_(where), nodes_(graph.nodes()), known_(nodes_.begin(), nodes_.end()) {}

  absl::Status Run() {
    QB_RETURN_IF_ERROR(CheckBorder());
    // Before anything follows an operand: a stale pointer must not be read.
    QB_RETURN_IF_ERROR(ForEachNode(&Verifier::CheckLinks));
    QB_RETURN_IF_ERROR(CheckUsers());
    QB_RETURN_IF_ERROR(CheckAcyclic());
    return ForEachNode(&Verifier::CheckType);
  }

 private:
  absl::Status Fail(const Node& node, absl::string_view what) const {
    return absl::InternalError(absl::StrCat("after ", where_, ": node '", node.name(), "' ", what));
  }

  absl::Status ForEachNode(absl::Status (Verifier::*check)(const Node&) const) const {
    for (const Node* node : nodes_) {
      QB_RETURN_IF_ERROR((this->*check)(*node));
    }
    return absl::OkStatus();
  }

  absl::Status CheckBorder() const {
    if (graph_.outputs().empty()) {
      return absl::InternalError(absl::StrCat("after ", where_, ": the graph has no output"));
    }
    absl::flat_hash_set<std::string> output_names;
    for (const Node* output : graph_.outputs()) {
      if (!known_.contains(output) || output->op() != OpKind::kOutput) {
        return absl::InternalError(absl::StrCat("after ", where_, ": a listed output is gone"));
      }
      if (!output_names.insert(output->name()).second) {
        return Fail(*output, "bears the name of another output");
      }
    }
    for (const Node* input : graph_.inputs()) {
      if (!known_.contains(input) || input->op() != OpKind::kInput) {
        return absl::InternalError(absl::StrCat("after ", where_, ": a listed input is gone"));
      }
    }
    return CheckNames();
  }

  absl::Status CheckNames() const {
    size_t inputs = 0;
    size_t outputs = 0;
    for (const Node* node : nodes_) {
      inputs += node->op() == OpKind::kInput ? 1 : 0;
      outputs += node->op() == OpKind::kOutput ? 1 : 0;
      if (node->name().empty()) {
        return Fail(*node, "has no name");
      }
      // The name table has one node a name: a second one of that name is not the one found.
      if (node->op() != OpKind::kOutput && graph_.FindNode(node->name()) != node) {
        return Fail(*node, "is not the node that its name finds");
      }
    }
    if (inputs != graph_.inputs().size() || outputs != graph_.outputs().size()) {
      return absl::InternalError(absl::StrCat(
          "after ", where_, ": ", inputs, " inputs and ", outputs, " outputs exist but ",
          graph_.inputs().size(), " and ", graph_.outputs().size(), " are listed"));
    }
    return absl::OkStatus();
  }

  absl::Status CheckLinks(const Node& node) const {
    for (const Node* operand : node.operands()) {
      if (!known_.contains(operand)) {
        return Fail(node, "has an operand outside the graph");
      }
      if (operand->op() == OpKind::kOutput) {
        return Fail(node, absl::StrCat("uses the output '", operand->name(), "'"));
      }
    }
    for (const Node* user : node.users()) {
      if (!known_.contains(user)) {
        return Fail(node, "has a user outside the graph");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckUsers() const {
    absl::flat_hash_map<std::pair<const Node*, const Node*>, int64_t> balance;
    for (const Node* node : nodes_) {
      for (const Node* operand : node->operands()) {
        ++balance[{operand, node}];
      }
      for (const Node* user : node->users()) {
        --balance[{node, user}];
      }
    }
    for (const Node* node : nodes_) {
      for (const Node* operand : node->operands()) {
        if (balance.at({operand, node}) != 0) {
          return Fail(*node, absl::StrCat("and its operand '", operand->name(),
                                          "' disagree on how often it is used"));
        }
      }
      for (const Node* user : node->users()) {
        if (balance.at({node, user}) != 0) {
          return Fail(*node, absl::StrCat("lists the user '", user->name(),
                                          "', which does not use it that often"));
        }
      }
    }
    return absl::OkStatus();
  }

  // Not Graph::TopologicalOrder, which ends the process on a cycle.
  absl::Status CheckAcyclic() const {
    absl::flat_hash_map<const Node*, int64_t> missing;
    std::vector<const Node*> ready;
    for (const Node* node : nodes_) {
      missing[node] = node->operand_count();
      if (node->operand_count() == 0) {
        ready.push_back(node);
      }
    }
    size_t placed = 0;
    while (!ready.empty()) {
      const Node* node = ready.back();
      ready.pop_back();
      ++placed;
      for (const Node* user : node->users()) {
        if (--missing[user] == 0) {
          ready.push_back(user);
        }
      }
    }
    for (const Node* node : nodes_) {
      if (placed != nodes_.size() && missing[node] > 0) {
        return Fail(*node, "is part of a cycle or follows one");
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckType(const Node& node) const {
    if (!AttributesFit(node.op(), node.attributes())) {
      return Fail(node, "has the attributes of another operator");
    }
    if (node.type().dtype == DType::kUndefined) {
      return Fail(node, "has no element type");
    }
    if (absl::Status status = CheckedElements(node.shape().dims()).status(); !status.ok()) {
      return Fail(node, status.message());
    }
    if (node.op() == OpKind::kInput) {
      return absl::OkStatus();
    }
    if (node.is_constant()) {
      const Tensor& value = node.constant();
      if (value.type() != node.type() || (value.raw() == nullptr && value.size_bytes() > 0)) {
        return Fail(node, absl::StrCat("of type ", node.type().ToString(), " has a value of type ",
                                       value.type().ToString()));
      }
      return absl::OkStatus();
    }
    absl::StatusOr<TensorType> type = InferType(node.op(), node.operands(), node.attributes());
    if (!type.ok()) {
      return Fail(node, absl::StrCat("(", OpDefOf(node.op()).name, ") ", type.status().message()));
    }
    if (*type != node.type()) {
      return Fail(node, absl::StrCat("has type ", node.type().ToString(), " but computes ",
                                     type->ToString()));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const absl::string_view where_;
  const std::vector<Node*> nodes_;
  const absl::flat_hash_set<const Node*> known_;
};

}  // namespace

absl::Status VerifyGraph(const Graph& graph, absl::string_view where) {
  return Verifier(graph, where).Run();
}

}  // namespace qb
