// A data set parted in two: samples to calibrate with, and samples to judge the result on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/dataset/dataset.h"

namespace qb {

struct HeldBackSamples {
  std::unique_ptr<Dataset> calibration, held_back;
};

// Every fourth sample is held back, at least one and at most `most`, chosen by content: neither
// order nor names matter. A single sample serves for both. `dataset` outlives the result. Errors:
// those of Dataset::ContentHash; Cancelled.
absl::StatusOr<HeldBackSamples> HoldBackSamples(const Dataset& dataset, int64_t most, int threads,
                                                const CancelToken& cancel);

}  // namespace qb
