#include "core/ops/pointwise_closure.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

#include "core/base/check.h"
#include "core/ops/elementwise_value.h"
#include "core/ops/pointwise.h"

namespace qb {
namespace {

bool IsScalarConstant(const Node* node) {
  return node->is_constant() && node->shape().elements() == 1 &&
         node->type().dtype == DType::kFloat32;
}

}  // namespace

PointwiseClosures::PointwiseClosures(const Graph& graph) {
  int64_t position = 0;
  for (const Node* node : graph.TopologicalOrder()) {
    positions_[node] = position++;
    if (const Node* source = FindSource(node); source != nullptr) {
      sources_[node] = source;
    }
  }
}

const Node* PointwiseClosures::FindSource(const Node* node) const {
  if (node->type().dtype != DType::kFloat32 ||
      (!IsPointwise(node->op()) && !IsElementwise(node->op()))) {
    return nullptr;
  }
  const Node* source = nullptr;
  for (const Node* operand : node->operands()) {
    if (IsScalarConstant(operand)) {
      continue;
    }
    if (operand->is_constant() || operand->shape() != node->shape()) {
      return nullptr;
    }
    const Node* inner = SourceOf(operand);
    const Node* candidate = inner != nullptr ? inner : operand;
    if (source != nullptr && source != candidate) {
      return nullptr;
    }
    source = candidate;
  }
  return source;
}

const Node* PointwiseClosures::SourceOf(const Node* node) const {
  const auto found = sources_.find(node);
  return found == sources_.end() ? nullptr : found->second;
}

bool PointwiseClosures::IsNeededOutside(const Node* node) const {
  const Node* source = SourceOf(node);
  return std::any_of(node->users().begin(), node->users().end(),
                     [&](const Node* user) { return SourceOf(user) != source; });
}

std::vector<const Node*> PointwiseClosures::Cone(const Node* node) const {
  const Node* source = SourceOf(node);
  QB_CHECK_MSG(source != nullptr, "node '", node->name(), "' is in no closure");
  absl::flat_hash_set<const Node*> seen = {node};
  std::vector<const Node*> cone = {node};
  for (size_t next = 0; next < cone.size(); ++next) {
    for (const Node* operand : cone[next]->operands()) {
      if (operand != source && !operand->is_constant() && seen.insert(operand).second) {
        cone.push_back(operand);
      }
    }
  }
  std::sort(cone.begin(), cone.end(),
            [&](const Node* a, const Node* b) { return positions_.at(a) < positions_.at(b); });
  return cone;
}

double PointwiseClosures::Evaluate(const Node* node, double source) const {
  absl::flat_hash_map<const Node*, double> values = {{SourceOf(node), source}};
  const auto value_of = [&](const Node* operand) {
    return operand->is_constant() ? static_cast<double>(operand->constant().data<float>()[0])
                                  : values.at(operand);
  };
  for (const Node* member : Cone(node)) {
    values[member] = IsPointwise(member->op())
                         ? EvaluatePointwise(*member, value_of(member->operand(0)))
                         : EvaluateElementwise(*member, value_of(member->operand(0)),
                                               value_of(member->operand(1)));
  }
  return values.at(node);
}

}  // namespace qb
