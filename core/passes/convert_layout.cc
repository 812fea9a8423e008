#include "core/passes/convert_layout.h"

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"

#include "core/base/status_macros.h"
#include "core/passes/layout_rules.h"
#include "core/passes/stored_layout.h"

namespace qb {

namespace {

// True when the tensor reaches an image operator through operators that would move along with it.
bool FeedsImageOp(const Node& input) {
  absl::flat_hash_set<const Node*> seen;
  std::vector<const Node*> stack = {&input};
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Node* user : node->users()) {
      if (IsChannelFirstImageOp(*user)) {
        return true;
      }
      if (MovesAlong(user->op()) && seen.insert(user).second) {
        stack.push_back(user);
      }
    }
  }
  return false;
}

// Images change their order right where they come in: what stands between an input and the first
// image operator then works on channels last, too, and the one Transpose serves all users.
absl::Status ConvertImageInputs(StoredLayout& layout) {
  for (Node* input : layout.graph().inputs()) {
    if (input->shape().rank() == 4 && FeedsImageOp(*input)) {
      QB_ASSIGN_OR_RETURN(Node * stored, layout.In(input, ChannelLastOrder()));
      layout.Set(input, {stored, ChannelLastOrder()});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> ConvertLayout(Graph& graph) {
  const std::vector<Node*> order = graph.TopologicalOrder();
  if (std::none_of(order.begin(), order.end(),
                   [](const Node* node) { return IsChannelFirstImageOp(*node); })) {
    return false;
  }
  StoredLayout layout(graph);
  QB_RETURN_IF_ERROR(ConvertImageInputs(layout));
  for (Node* node : order) {
    QB_RETURN_IF_ERROR(ApplyLayoutRule(layout, node));
  }
  graph.RemoveDeadNodes();
  return true;
}

}  // namespace qb
