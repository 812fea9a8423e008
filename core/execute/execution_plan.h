// The order of work for one graph, and where each value lies. Internal to core/execute.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

#include "core/execute/executor.h"
#include "core/execute/kernel.h"
#include "core/ir/graph.h"

namespace qb::execute {

// Where the bytes of a value are during a run.
struct Place {
  enum class Kind { kArena, kInput, kOutput, kConstant };
  Kind kind = Kind::kArena;
  int64_t offset = 0;              // kArena: in bytes
  size_t index = 0;                // kInput, kOutput: into the run's inputs or outputs
  const void* constant = nullptr;  // kConstant
};

struct PlannedStep {
  const Node* node = nullptr;
  std::unique_ptr<Kernel> kernel;  // null when the value is there already
  std::vector<size_t> operands;    // indices of values
  size_t value = 0;                // index of the result
  int64_t scratch_offset = 0;      // in the arena
  bool observed = false;
};

// Of an output only the first elements along an axis count, as many as a value says.
struct OutputTrim {
  size_t output = 0;  // into the run's outputs
  int64_t axis = 0;
  size_t count = 0;  // the value, an int64 scalar
};

struct ExecutionPlan {
  std::vector<PlannedStep> steps;
  std::vector<Place> places;    // by index of value
  std::vector<size_t> outputs;  // values, in the order of graph.outputs()
  std::vector<OutputTrim> trims;
  int64_t arena_bytes = 0;
  int64_t largest_live_bytes = 0;
  int64_t packed_weight_bytes = 0;
};

// Errors: as CreateCpuExecutor.
absl::StatusOr<ExecutionPlan> MakePlan(const Graph& graph, const ExecutorOptions& options,
                                       const dnnl::engine& engine);

}  // namespace qb::execute
