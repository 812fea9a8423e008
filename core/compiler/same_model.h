// Whether several .mblt are one model at several sizes.
#pragma once

#include "absl/status/status.h"

#include "core/package/mblt.h"

namespace qb {

// Compares the source (its digest, where both know it), names, types and ranks of inputs and
// outputs, and the weights: constants that both graphs have under one name and shape are equal.
// Shapes of activations may differ. Errors: ARGUMENT_ERROR saying what differs.
absl::Status CheckSameModel(const MbltFile& first, const MbltFile& other);

// The shapes of the samples choose the size at run time, so no two sizes may have inputs of the
// same shapes. Both are one model. Errors: ARGUMENT_ERROR with these shapes.
absl::Status CheckOtherSize(const MbltFile& first, const MbltFile& other);

}  // namespace qb
