// The .mblt file: a model as this compiler's graph.
//
//   manifest.json  format, provenance, support summary
//   graph.onnx     the graph (core/package/graph_onnx.h)
//   weights.bin    its constants
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/json.h"
#include "core/ir/graph.h"

namespace qb {

inline constexpr char kMbltFormat[] = "qbc-mblt";
inline constexpr char kMxqFormat[] = "qbc-mxq";

struct MbltFile {
  Graph graph;    // constants borrow from the mapped file, which they keep open
  Json manifest;
};

// `manifest` gets the members format, format_version and entries (SHA-256 of the others) in front.
// Errors: OUTPUT_WRITE_ERROR.
absl::Status WriteMblt(const std::string& path, const Graph& graph, const Json& manifest);

// Errors: MODEL_PARSE_ERROR: not such a file, damaged, or of a newer major version.
absl::StatusOr<MbltFile> ReadMblt(const std::string& path);
// For bytes that are in memory; `owner` keeps them alive.
absl::StatusOr<MbltFile> ReadMbltBytes(absl::string_view bytes, std::shared_ptr<const void> owner);

// The manifest alone: cheap.
absl::StatusOr<Json> ReadManifest(const std::string& path);

}  // namespace qb
