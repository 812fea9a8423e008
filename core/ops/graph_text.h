// The text form of a graph: what tests are written in, and what --dump prints.
//
//   graph "name" {
//     x = Input float32[1x3x8x8]
//     w = InputConstant float32[4x3x3x3] random(7)         // seeded uniform [-1, 1)
//     b = InputConstant float32[4] [0.5, 1, 2, 3]          // or splat(0.5)
//     c = Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, activation="relu"}
//     y = Output(c)
//   }
//
// A name that is no identifier is written in quotes. Types of operators are inferred when parsing
// and printed as a trailing comment. Attributes that have their default value are left out.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/ir/graph.h"

namespace qb {

// Constants of more than `most_values` elements are printed as their SHA-256.
struct GraphTextOptions {
  int64_t most_values = 64;
};

std::string GraphToText(const Graph& graph, const GraphTextOptions& options = {});
// Errors: InvalidArgument with line and column.
absl::StatusOr<Graph> GraphFromText(absl::string_view text);

}  // namespace qb
