// Kernels for float16 and narrow integers: the operator in a wider type between two conversions.
#pragma once

#include "core/execute/kernel.h"

namespace qb::execute {

// True when an operand or the result is float16 or an integer that no kernel computes in.
bool NeedsWidening(const KernelRequest& request);

// True when an operand or the result is float64, which some kernels lack.
bool IsInDoublePrecision(const KernelRequest& request);

// The kernel that `make` gives for float32 instead of float16 and float64, int32 instead of 8 and
// 16 bits and int64 instead of uint32. Integers wrap on the way back, as arithmetic in their own
// type would; doubles come back with the precision of a float.
KernelOr MakeWidened(const KernelRequest& request, KernelOr (*make)(const KernelRequest&));

}  // namespace qb::execute
