#include "core/execute/compute_library.h"

#include "absl/strings/str_cat.h"

#include <dnnl.hpp>

namespace qb {
namespace {

std::string InstructionsName(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse4.1";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2 vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512 vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512 bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512 amx";
    default:
      return absl::StrCat("level ", static_cast<int>(isa));
  }
}

}  // namespace

ComputeLibrary FloatLibrary() {
  const dnnl::version_t* version = dnnl::version();
  return {"oneDNN", absl::StrCat(version->major, ".", version->minor, ".", version->patch),
          InstructionsName(dnnl::get_effective_cpu_isa())};
}

}  // namespace qb
