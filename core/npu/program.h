// From an integer network to a program of the abstract machine (docs/abstract-machine.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/integer/network.h"
#include "core/npu/cost.h"
#include "core/npu/cut.h"
#include "core/target/target_spec.h"

namespace qb::npu {

inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 2;

// How good the arena is: peak == lower bound says that no plan could be smaller.
struct MemoryCertificate {
  int64_t peak_bytes = 0;
  int64_t lower_bound_bytes = 0;
};

struct LayerEstimate {
  std::string name;
  std::string kind;  // integer::LayerKindName
  // Of a cut layer: the tiling of its slowest part, with the cycles of that part and all other figures
  // summed over the parts.
  Tiling tiling;
  CutAxis cut = CutAxis::kNone;
  int64_t parts = 1;
};

struct NpuProgram {
  std::string program;  // a serialized qb.npu.v1.Program
  std::string weights;  // weights.bin
  // What the program takes and gives: the network's border, or codes where the target has an integer
  // border (Quantize and Dequantize layers there are left out). For one sample.
  std::vector<integer::TensorInfo> inputs, outputs;
  int64_t samples = 1;  // of one run: the cores of a cluster in multi
  MemoryCertificate memory;
  Cost estimate;  // of all layers, in the cycles of the target's data file
  std::vector<LayerEstimate> layers;
};

// Plans memory and tiles and writes the descriptors. Equal networks give equal bytes.
//
// Errors: TARGET_ERROR for a mode that the target has not, for a layer that the target cannot run or
// that does not fit its memory; InvalidArgument as integer::ValidateNetwork.
absl::StatusOr<NpuProgram> BuildProgram(const integer::Network& network, const TargetSpec& target,
                                        CoreMode mode);

// Programs of several modes over one weights file.
struct NpuPrograms {
  std::vector<NpuProgram> programs;  // in the order of the modes; their `weights` are empty
  std::string weights;
};
absl::StatusOr<NpuPrograms> BuildPrograms(const integer::Network& network, const TargetSpec& target,
                                          absl::Span<const CoreMode> modes);

}  // namespace qb::npu
