// Counts what a model file would become in memory before it is parsed.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace qb::onnx_import {

// Protobuf turns two bytes on disk into hundreds in memory (an empty node). The limit is far above
// real models, whose largest have some 10^5 nodes.
inline constexpr int64_t kMostElements = int64_t{1} << 22;
inline constexpr int64_t kMostNesting = 64;

// Walks the wire format of a ModelProto without building anything. Errors: InvalidArgument when the
// bytes are no protobuf message, hold more than kMostElements nodes, attributes, names and values
// in all, or nest subgraphs deeper than kMostNesting.
absl::Status CheckScanLimits(absl::string_view bytes);

}  // namespace qb::onnx_import
