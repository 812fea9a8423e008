// Which form of the integer kernels runs. All forms give the same bits.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"

namespace qb::integer {

enum class KernelLevel {
  kReference,   // plain loops that follow docs/numerics.md word by word
  kPortable,    // fast loops without special instructions
  kAvx2,        // int16 pairs (vpmaddwd)
  kAvx512Vnni,  // uint8 x int8 quadruples (vpdpbusd, which does not saturate)
};

// The fastest form that this processor runs.
KernelLevel BestKernelLevel();
// Every form that this processor runs, slowest first.
std::vector<KernelLevel> SupportedKernelLevels();
absl::string_view KernelLevelName(KernelLevel level);

}  // namespace qb::integer
