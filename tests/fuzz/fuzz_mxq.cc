// Any bytes as an .mxq file; what opens is loaded into the simulator, in all its sizes and stages, and
// exported.
#include <cstddef>
#include <cstdint>

#include "core/evaluate/staged_model.h"
#include "core/package/export_mxq.h"
#include "core/package/mxq.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = qb::MxqFile::FromBytes(bytes);
  if (file.ok()) {
    for (const qb::MxqSize& one : (*file)->sizes()) {
      for (const auto& [mode, program] : (*file)->programs()) {
        static_cast<void>(qb::StagedModel::Create(one, mode, 1));
      }
    }
    static_cast<void>(qb::MxqToQdqOnnx(**file));
  }
  return 0;
}
