#include "core/passes/delayed_take_overs.h"

namespace qb {

void DelayedTakeOvers::Add(Graph& graph, Node* from, Node* to) {
  names_.emplace_back(to->name(), from->name());
  graph.ReplaceUses(from, to);
}

bool DelayedTakeOvers::Finish(Graph& graph) {
  if (names_.empty()) {
    return false;
  }
  graph.RemoveDeadNodes();
  for (const auto& [name, wanted] : names_) {
    // Null when a later replacement took its place.
    if (Node* node = graph.FindNode(name); node != nullptr) {
      graph.Rename(node, wanted);
    }
  }
  names_.clear();
  return true;
}

}  // namespace qb
