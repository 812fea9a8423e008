#include "core/integer/kernel_level.h"

namespace qb::integer {
namespace {

bool HasAvx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

bool HasAvx512Vnni() {
#if defined(__x86_64__)
  return HasAvx2() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}

}  // namespace

KernelLevel BestKernelLevel() {
  if (HasAvx512Vnni()) {
    return KernelLevel::kAvx512Vnni;
  }
  return HasAvx2() ? KernelLevel::kAvx2 : KernelLevel::kPortable;
}

std::vector<KernelLevel> SupportedKernelLevels() {
  std::vector<KernelLevel> levels = {KernelLevel::kReference, KernelLevel::kPortable};
  if (HasAvx2()) {
    levels.push_back(KernelLevel::kAvx2);
  }
  if (HasAvx512Vnni()) {
    levels.push_back(KernelLevel::kAvx512Vnni);
  }
  return levels;
}

absl::string_view KernelLevelName(KernelLevel level) {
  switch (level) {
    case KernelLevel::kReference:
      return "reference";
    case KernelLevel::kPortable:
      return "portable";
    case KernelLevel::kAvx2:
      return "avx2";
    case KernelLevel::kAvx512Vnni:
      return "avx512vnni";
  }
  return "?";
}

}  // namespace qb::integer
