// Any bytes as an .mxq file; what opens is loaded into the simulator.
#include <cstddef>
#include <cstdint>

#include "core/npu/load_program.h"
#include "core/package/mxq.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto file = qb::MxqFile::FromBytes(bytes);
  if (file.ok()) {
    for (const auto& [mode, program] : (*file)->programs()) {
      static_cast<void>(qb::npu::LoadProgram(program, (*file)->weights()));
    }
  }
  return 0;
}
