// What a target without lookup-table unit can run.
#pragma once

#include "absl/status/status.h"
#include "core/integer/network.h"
#include "core/target/target_spec.h"

namespace qb::npu {

// Tables that are a line between clamps (Relu, Clip, a scale, a shift) run on the vector unit.
// Errors: TARGET_ERROR naming the first layer that needs the unit where the target has none.
absl::Status CheckLookupUnit(const integer::Network& network, const TargetSpec& target);

}  // namespace qb::npu
