// Values whose extent along an axis is known only now.
#pragma once

#include <cstdint>

#include "core/ir/tensor.h"

namespace qb::execute {

// The first `count` elements along `axis`; a count outside the axis is moved into it.
Tensor CutAxis(const Tensor& value, int64_t axis, int64_t count);

}  // namespace qb::execute
