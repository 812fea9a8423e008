// A choice of samples that depends on what they hold, not on where they are.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/cancel_token.h"
#include "core/dataset/dataset.h"

namespace qb {

// Indices (ascending) of the `count` samples whose contents have the smallest hashes; all samples
// when there are no more than that. Errors: those of Dataset::ContentHash; Cancelled.
absl::StatusOr<std::vector<int64_t>> ChooseSamples(const Dataset& dataset, int64_t count,
                                                   int threads, const CancelToken& cancel);

// The same indices in the order of their hashes: an order that names and places do not change
// either.
absl::StatusOr<std::vector<int64_t>> SamplesByContent(const Dataset& dataset, int64_t count,
                                                      int threads, const CancelToken& cancel);

}  // namespace qb
