// Reading a program back. Every byte is taken as hostile.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/integer/network.h"
#include "core/npu/cost.h"
#include "core/npu/program.h"
#include "core/npu/schedule.h"

namespace qb::npu {

struct PartNumber {
  size_t layer = 0, part = 0;
};

// A program that is safe to run: the network is valid, every address lies in its space, no two live
// tensors overlap, and the events order the layers.
struct LoadedProgram {
  std::string target;
  std::string core_mode;
  // Layers in the order of execution that the events and cores give; a constant's bytes are those of
  // the weights file.
  integer::Network network;
  std::vector<int64_t> addresses;  // by tensor: in the arena, or -1 for a constant
  int64_t arena_bytes = 0;
  int64_t samples = 1;             // of one run; each has its share of the arena
  // By layer; empty where one core runs all layers in their order.
  std::vector<ScheduledLayer> schedule;
  // The parts of the schedule in an order that cores and events give.
  std::vector<PartNumber> order;
  MemoryCertificate memory;
  Cost estimate;
  std::vector<LayerEstimate> layers;
};

// `weights` is copied. Errors: DataLoss saying what is wrong; InvalidArgument for a newer format.
absl::StatusOr<std::unique_ptr<LoadedProgram>> LoadProgram(absl::string_view program,
                                                           absl::string_view weights);

}  // namespace qb::npu
