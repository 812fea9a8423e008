// Means over whole images.
#pragma once

#include "absl/status/statusor.h"

#include "core/ir/graph.h"

namespace qb {

struct RaiseGlobalPoolingOptions {
  // Which two axes of a rank-4 tensor are its pixels: (1, 2) when true, else (2, 3).
  bool channel_last = false;
};

// A float ReduceMean over the two spatial axes becomes GlobalAveragePooling (with a Reshape behind
// it when it drops the axes), and so does an average pooling, of either layout, whose only window
// is the whole image. Returns whether the graph changed.
absl::StatusOr<bool> RaiseGlobalPooling(Graph& graph,
                                        const RaiseGlobalPoolingOptions& options = {});

}  // namespace qb
