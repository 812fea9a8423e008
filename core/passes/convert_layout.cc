#include "core/passes/convert_layout.h"

#include <algorithm>
#include <vector>

#include "core/base/status_macros.h"
#include "core/passes/layout_rules.h"
#include "core/passes/stored_layout.h"

namespace qb {

absl::StatusOr<bool> ConvertLayout(Graph& graph) {
  const std::vector<Node*> order = graph.TopologicalOrder();
  if (std::none_of(order.begin(), order.end(),
                   [](const Node* node) { return IsChannelFirstImageOp(*node); })) {
    return false;
  }
  StoredLayout layout(graph);
  for (Node* node : order) {
    QB_RETURN_IF_ERROR(ApplyLayoutRule(layout, node));
  }
  graph.RemoveDeadNodes();
  return true;
}

}  // namespace qb
