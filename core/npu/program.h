// From an integer network to a program of the abstract machine (docs/abstract-machine.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/integer/network.h"
#include "core/npu/cost.h"
#include "core/target/target_spec.h"

namespace qb::npu {

inline constexpr uint32_t kFormatMajor = 1;
inline constexpr uint32_t kFormatMinor = 0;

// How good the arena is: peak == lower bound says that no plan could be smaller.
struct MemoryCertificate {
  int64_t peak_bytes = 0;
  int64_t lower_bound_bytes = 0;
};

struct LayerEstimate {
  std::string name;
  std::string kind;  // integer::LayerKindName
  Tiling tiling;
};

struct NpuProgram {
  std::string program;  // a serialized qb.npu.v1.Program
  std::string weights;  // weights.bin
  // What the program takes and gives: the network's border, or codes where the target has an integer
  // border (Quantize and Dequantize layers there are left out).
  std::vector<integer::TensorInfo> inputs, outputs;
  MemoryCertificate memory;
  Cost estimate;  // of all layers, in the cycles of the target's data file
  std::vector<LayerEstimate> layers;
};

// Plans memory and tiles and writes the descriptors. Equal networks give equal bytes.
//
// Errors: TARGET_ERROR for a mode that the target has not, for one that is not supported yet (all but
// single), for a layer that the target cannot run or that does not fit its memory; InvalidArgument as
// integer::ValidateNetwork.
absl::StatusOr<NpuProgram> BuildProgram(const integer::Network& network, const TargetSpec& target,
                                        CoreMode mode);

}  // namespace qb::npu
