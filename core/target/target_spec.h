// What the compiler knows about a device: public facts and declared assumptions.
//
// Instruction set, memory sizes and clock of these chips are not public. Every number that is assumed
// sits in core/target/data with its source; nothing here is measured on hardware.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/json.h"

namespace qb {

// How the cores of a target work on inputs.
enum class CoreMode {
  kSingle,   // one local core an input
  kMulti,    // the four cores of a cluster take four inputs
  kGlobal4,  // four cores share one input
  kGlobal8,  // eight cores share one input
};
// "single", "multi", "global4", "global8".
absl::string_view CoreModeName(CoreMode mode);
// Errors: DataLoss for another name (it comes from a file).
absl::StatusOr<CoreMode> CoreModeFromName(absl::string_view name);

struct TargetSpec {
  std::string name;
  std::string description;
  int64_t clusters = 0;
  int64_t cores_per_cluster = 0;
  double headline_int8_tops = 0;
  std::vector<CoreMode> modes;
  bool lut_unit = false;        // the unit for non-linear functions
  bool integer_border = false;  // inputs and outputs are codes, not float

  // The core that cost estimates and limits speak of.
  int64_t macs_per_cycle = 0;
  int64_t mac_array_input_channels = 0, mac_array_output_channels = 0;
  int64_t vector_lanes = 0;  // elements a cycle
  int64_t clock_hz = 0;
  int64_t sram_bytes_per_core = 0;
  int64_t dma_bytes_per_cycle = 0;
  int64_t int16_passes = 0;  // of the array for each operand of 16 bits
  int64_t event_cycles = 0;  // from an event's signal to the start of what waits for it
  int64_t dram_bytes = 0;
  int64_t largest_kernel = 0, largest_stride = 0, largest_dilation = 0, largest_rank = 0;

  // The data file, with the source of each number: for manifests and `qbcompiler info`.
  Json data;

  int64_t cores() const { return clusters * cores_per_cluster; }
  // 2 operations x cores x MACs a cycle x clock, in 10^12 a second.
  double computed_int8_tops() const;
};

// Parses one data file. Errors: InvalidArgument naming the key.
absl::StatusOr<TargetSpec> ParseTargetSpec(absl::string_view text);

// In the order of the documentation. The specs live as long as the program.
const std::vector<TargetSpec>& AllTargets();

// Exact match. Errors: TARGET_ERROR with the list of names.
absl::StatusOr<const TargetSpec*> FindTarget(absl::string_view name);

// The core modes that an inference scheme means for a target: one mode, or with `all` every mode the
// target has. `global` is an older name of global4.
// Errors: TARGET_ERROR naming the target's schemes.
absl::StatusOr<std::vector<CoreMode>> CheckScheme(const TargetSpec& target,
                                                  absl::string_view scheme);

}  // namespace qb
