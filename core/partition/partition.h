// Which device runs which part of a graph: CPU head, NPU body, CPU tail, and CPU islands in between
// where they are worth it. README.md states the rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/json.h"
#include "core/ir/graph.h"
#include "core/target/support.h"

namespace qb {

struct PartitionOptions {
  // NPU islands with a smaller share of all products than this go to the CPU; the largest stays.
  double smallest_island_share = 0.01;
  // A CPU island between two NPU parts may move this many bytes for one sample, both ways together.
  int64_t most_island_bytes = int64_t{8} << 20;
};

// One run of a device. Parts are in order: what a part reads is an input of the graph or comes from
// the parts before it.
struct GraphPart {
  std::string name;  // "cpu_head", "npu_body", "cpu_tail"; with several NPU parts numbered from 1
  bool npu = false;
  std::vector<const Node*> nodes;    // in topological order
  std::vector<const Node*> inputs;   // values from outside, no constants
  std::vector<const Node*> outputs;  // values that later parts or the graph's outputs need
  int64_t macs = 0;

  int64_t input_bytes() const;
  int64_t output_bytes() const;
};

struct Partition {
  std::vector<GraphPart> parts;

  bool needs_cpu() const;
  // The NPU part with the most products, the first of them.
  const GraphPart& body() const;
  std::vector<const GraphPart*> npu_parts() const;
};

// Divides `graph`, which outlives the result. `support` is of this graph; nodes that the rules move
// to the CPU get a reason in it, so that afterwards it says for each node where it runs.
//
// Errors: UNSUPPORTED_OPERATOR when no node is left for the NPU, or when an island would move more
// than options.most_island_bytes: then with its tensors and their bytes.
absl::StatusOr<Partition> PartitionGraph(const Graph& graph, const TargetSpec& target,
                                         const PartitionOptions& options, SupportReport& support);

// The part that consists of these layers, with its border. Errors: InvalidArgument for a name that
// is no layer of the graph, or when there is none.
absl::StatusOr<GraphPart> PartOfLayers(const Graph& graph, const std::vector<std::string>& layers);

// A table for people: each part with layers, products and what crosses its border.
std::string PartitionText(const Partition& partition);
// [{name, device, layers[], macs, inputs[{name, type, bytes}], outputs[..]}]
Json PartitionJson(const Partition& partition);

}  // namespace qb
