// Any bytes as an .mblt file.
#include <cstddef>
#include <cstdint>

#include "core/ops/verifier.h"
#include "core/package/mblt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<qb::MbltFile> file = qb::ReadMbltBytes(bytes, nullptr);
  if (file.ok()) {
    // What the reader accepts, the rest of the compiler must be able to rely on.
    const absl::Status status = qb::VerifyGraph(file->graph, "fuzz");
    if (!status.ok()) {
      __builtin_trap();
    }
  }
  return 0;
}
