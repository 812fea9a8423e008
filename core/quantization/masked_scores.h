// The range of attention scores with a mask.
#pragma once

#include <functional>
#include <optional>

#include "core/calibration/calibrate.h"
#include "core/ir/node.h"

namespace qb {

// A sum that only softmaxes read, of scores that vary and of a mask: a value that is never above 0
// and somewhere -1000 or less. Masked places get no weight as long as they stay well below the
// scores, so the sum needs codes for magnitudes up to
//   threshold of the scores + 8 / beta
// only, exp(-8) being less than half a step of an 8-bit softmax; below that it saturates. With
// codes for the mask's range all scores would be one code. Empty for every other node, and where
// nothing is known of the scores.
//
// `source_of`: the value whose range an operand has; null for what has none.
std::optional<double> MaskedScoresThreshold(
    const Node& sum, const CalibrationTable& table,
    const std::function<const Node*(const Node*)>& source_of);

}  // namespace qb
