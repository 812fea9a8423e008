// A part of a graph as a graph of its own.
#pragma once

#include <string>

#include "absl/types/span.h"

#include "core/ir/graph.h"

namespace qb {

// What to cut out: everything between `inputs` and `outputs`.
struct CutOut {
  std::string name;
  absl::Span<const Node* const> inputs;   // values that become inputs, in this order
  absl::Span<const Node* const> outputs;  // values that become outputs, in this order
};

// A graph that computes the outputs from the inputs. Inputs and outputs bear the names of their
// values; nodes and constants keep their names; constants share their bytes. Precondition: each
// output depends on `inputs` and constants only.
Graph CutOutGraph(const Graph& graph, const CutOut& cut);

}  // namespace qb
