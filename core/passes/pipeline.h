// The graph rewrites between import and quantization, in order.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "core/ir/graph.h"

namespace qb {

enum class GraphLayout {
  kSource,       // as imported
  kChannelLast,  // images NHWC, convolution weights OHWI; inputs and outputs as imported
};

struct PassOptions {
  GraphLayout layout = GraphLayout::kChannelLast;
  // Called with the name of each pass that changed the graph, after it. Empty: nobody looks.
  std::function<void(absl::string_view pass, const Graph& graph)> dump;
};

// When a pass runs. Within a stage that repeats, its passes run in order until none changes
// anything.
enum class PassStage {
  kSimplify,  // repeats
  kLayout,    // once, and only for GraphLayout::kChannelLast
  kPolish,    // repeats
};

struct PassRow {
  PassStage stage;
  absl::string_view name;
  absl::StatusOr<bool> (*run)(Graph& graph, const PassOptions& options);
};

// In the order in which they run.
absl::Span<const PassRow> AllPasses();

// Runs all passes. Names, order and types of inputs and outputs stay. Errors: of folding (Gather
// with an index out of range, named by node); Internal when a pass breaks the graph or does not
// settle.
absl::Status RunPasses(Graph& graph, const PassOptions& options = {});

}  // namespace qb
