// Convolution by its definition, for element types that oneDNN does not compute in.
#pragma once

#include "core/execute/kernel.h"

namespace qb::execute {

// For float64 and int32 (which wraps). Errors: Unimplemented for other types.
KernelOr MakePlainConvolution(const KernelRequest& request);

}  // namespace qb::execute
