#include "core/target/value_source.h"

#include <algorithm>
#include <vector>

#include "core/ops/pointwise.h"

namespace qb {
namespace {

// Values further up are not looked at: a table of so many operators is split by hand in no model.
constexpr size_t kMostSteps = 64;

bool IsElementwise(OpKind op) {
  return op == OpKind::kAdding || op == OpKind::kSub || op == OpKind::kMultiply ||
         op == OpKind::kDiv || op == OpKind::kPow || op == OpKind::kMaximum ||
         op == OpKind::kMinimum;
}

bool IsScalarConstant(const Node& node) {
  return node.is_constant() && node.shape().elements() == 1;
}

}  // namespace

const Node* SourceOfPointwiseValue(const Node& node) {
  // Replaces the latest value of the frontier by its operands until one value is left. The latest
  // first, so that branches of one value meet at it.
  std::vector<const Node*> frontier = {&node};
  for (size_t step = 0; step < kMostSteps; ++step) {
    const auto latest = std::max_element(
        frontier.begin(), frontier.end(),
        [](const Node* a, const Node* b) { return a->id() < b->id(); });
    const Node* value = *latest;
    if (step > 0 && frontier.size() == 1) {
      return value->shape() == node.shape() ? value : nullptr;
    }
    if (!IsPointwise(value->op()) && !IsElementwise(value->op())) {
      return nullptr;
    }
    frontier.erase(latest);
    for (const Node* operand : value->operands()) {
      if (!IsScalarConstant(*operand) &&
          std::find(frontier.begin(), frontier.end(), operand) == frontier.end()) {
        frontier.push_back(operand);
      }
    }
    if (frontier.empty()) {
      return nullptr;  // all constant
    }
  }
  return nullptr;
}

}  // namespace qb
