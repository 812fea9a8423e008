// Spreading the layers of one sample over cores, and the events that keep them apart.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/integer/network.h"
#include "core/npu/cut.h"
#include "core/target/target_spec.h"

namespace qb::npu {

// A core's share of a layer.
struct ScheduledPart {
  int core = 0;
  PartRange range;
  std::vector<uint32_t> waits;  // events
  uint32_t signal = 0;          // an event of its own
  Tiling tiling;
};

struct ScheduledLayer {
  CutAxis axis = CutAxis::kNone;
  std::vector<ScheduledPart> parts;  // on cores 0, 1, ...
};

struct Schedule {
  std::vector<ScheduledLayer> layers;
  Cost cost;  // cycles: when the last part ends; the rest summed over parts
};

// Cuts each layer along the axis that takes the fewest cycles by the target's data file, the cores in
// step, and makes each part wait for what it must. `addresses` by tensor; `in_place` by layer.
// Precondition: the network is valid and its addresses are (CheckAddresses). Errors: as ChooseTiling.
absl::StatusOr<Schedule> MakeSchedule(const integer::Network& network, const TargetSpec& target,
                                      const std::vector<int64_t>& addresses,
                                      const std::vector<bool>& in_place, int64_t cores);

// That any order of parts that keeps to cores and events gives what the layers give one after the
// other: each part waits, itself or through what it waits for, for every earlier part that writes
// what it reads, or touches what it overwrites. For schedules from outside.
// Errors: DataLoss naming the layers.
absl::Status CheckSchedule(const integer::Network& network, const std::vector<int64_t>& addresses,
                           const std::vector<ScheduledLayer>& layers);

}  // namespace qb::npu
