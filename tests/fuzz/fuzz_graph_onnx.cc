// Any bytes as the graph.onnx of an .mblt: behind the archive's checksums a mutated file hardly
// ever gets this far.
#include <cstddef>
#include <cstdint>

#include "core/ops/verifier.h"
#include "core/package/graph_onnx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string* const weights = new std::string(4096, '\0');
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<qb::Graph> graph = qb::GraphFromOnnx(bytes, *weights, nullptr);
  if (graph.ok() && !qb::VerifyGraph(*graph, "fuzz").ok()) {
    __builtin_trap();
  }
  return 0;
}
