// Replacing nodes that a walk has not come to yet.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/ir/graph.h"

namespace qb {

// Replacements during a walk that comes to the replaced nodes later: users move at once, the nodes
// go when the walk is over.
class DelayedTakeOvers {
 public:
  // `to`, which computes the same tensor, takes the users of `from`.
  void Add(Graph& graph, Node* from, Node* to);
  // Removes what nothing needs any more and gives the names of the replaced nodes to their
  // replacements. Returns whether there were any.
  bool Finish(Graph& graph);

 private:
  std::vector<std::pair<std::string, std::string>> names_;  // what it bears, what it will bear
};

}  // namespace qb
