// Where each layer of a model runs, as the settings allow.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "core/config/compile_config.h"
#include "core/ir/graph.h"
#include "core/partition/partition.h"
#include "core/target/support.h"
#include "core/target/target_spec.h"

namespace qb {

struct Placement {
  SupportReport support;  // says for each node where it runs and why
  // Without one the NPU runs everything.
  std::optional<Partition> partition;
};

PartitionOptions PartitionOptionsOf(const CompileConfig& config);

// `graph` outlives the result. Errors: UNSUPPORTED_OPERATOR with every layer that the NPU does not
// run when `cpuOffload` is off; with it as PartitionGraph, and for layers that the CPU does not run
// either.
absl::StatusOr<Placement> PlaceGraph(const Graph& graph, const TargetSpec& target,
                                     const CompileConfig& config);

}  // namespace qb
