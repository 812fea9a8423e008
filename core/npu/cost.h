// Tiles that fit a core's memory, and the cycles that they take by the target's data file.
//
// Estimates, not measurements: the numbers of the data files are assumed (core/target).
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "core/integer/network.h"
#include "core/target/target_spec.h"

namespace qb::npu {

struct Cost {
  int64_t cycles = 0;          // the larger of compute and DMA for each tile, summed
  int64_t compute_cycles = 0;
  int64_t dma_cycles = 0;
  int64_t dma_bytes = 0;
  int64_t macs = 0;
  int64_t halo_bytes = 0;    // of a layer cut over cores: rows read besides each part's share
  int64_t gather_bytes = 0;  // operands that every part reads whole

  Cost& operator+=(const Cost& other);
  bool operator==(const Cost& other) const = default;
};

// A tile is a box of the result: rows x columns x channels. Result, operands and weights of two tiles
// lie in SRAM at once, so that DMA works beside the arithmetic.
struct Tiling {
  int64_t height = 1, width = 1, channels = 1;
  int64_t count = 1;
  int64_t sram_bytes = 0;
  Cost cost;
  bool operator==(const Tiling& other) const = default;
};

// The tiling of least cycles; of equal ones that with fewest tiles. `in_place` tells that the result
// takes the operand's memory (a reshape then costs nothing).
// Errors: TARGET_ERROR when even the smallest tile does not fit.
absl::StatusOr<Tiling> ChooseTiling(const integer::Layer& layer, const integer::Network& network,
                                    const TargetSpec& target, bool in_place);

}  // namespace qb::npu
