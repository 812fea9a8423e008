// What a network costs on a target, without making a program of it.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"

#include "core/integer/network.h"
#include "core/target/target_spec.h"

namespace qb {

// Cycles of all layers on one core, by the target's data file. Errors: TARGET_ERROR for a layer
// that does not fit the target's memory.
absl::StatusOr<int64_t> EstimateCycles(const integer::Network& network, const TargetSpec& target);

}  // namespace qb
