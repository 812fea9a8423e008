// The samples of a model as a part in its middle sees them.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/dataset/dataset.h"
#include "core/ir/graph.h"

namespace qb {

// Samples of `dataset`, which has the inputs of `graph`, run through the float graph up to
// `values`: one tensor a value. Everything outlives the result. Errors of Create: those of
// CreateCpuExecutor; of Load: CALIBRATION_DATA_ERROR naming the sample.
absl::StatusOr<std::unique_ptr<Dataset>> MakePrefixDataset(const Dataset& dataset,
                                                           const Graph& graph,
                                                           absl::Span<const Node* const> values);

}  // namespace qb
