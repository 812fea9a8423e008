#include "core/compiler/placement.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/execute/executor.h"
#include "core/partition/part_graph.h"

namespace qb {
namespace {

// That the float executor has a kernel for every layer of the part.
absl::Status CheckCpuRuns(const Graph& graph, const GraphPart& part) {
  const Graph cut = CutOutGraph(graph, {part.name, part.inputs, part.outputs});
  absl::Status status = CreateCpuExecutor(cut).status();
  if (absl::IsUnimplemented(status)) {
    return Failure(FailureCode::kUnsupportedOperator,
                   absl::StrCat("neither the NPU nor the CPU runs it: ", status.message()));
  }
  return status;
}

}  // namespace

PartitionOptions PartitionOptionsOf(const CompileConfig& config) {
  PartitionOptions options;
  options.smallest_island_share = config.Float("offload.smallestIslandShare");
  options.most_island_bytes = config.Int("offload.mostIslandBytes");
  return options;
}

absl::StatusOr<Placement> PlaceGraph(const Graph& graph, const TargetSpec& target,
                                     const CompileConfig& config) {
  Placement placement;
  placement.support = CheckSupport(graph, target);
  if (placement.support.unsupported_count() == 0) {
    return placement;
  }
  if (!config.Bool("cpuOffload")) {
    return RequireFullSupport(placement.support, target);
  }
  QB_ASSIGN_OR_RETURN(Partition partition,
                      PartitionGraph(graph, target, PartitionOptionsOf(config), placement.support));
  for (const GraphPart& part : partition.parts) {
    if (!part.npu) {
      QB_RETURN_IF_ERROR(CheckCpuRuns(graph, part));
    }
  }
  placement.partition = std::move(partition);
  return placement;
}

}  // namespace qb
