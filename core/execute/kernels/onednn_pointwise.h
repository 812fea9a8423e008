// Transcendental functions of float32 through oneDNN, which vectorizes them.
#pragma once

#include "core/execute/kernel.h"

namespace qb::execute {

bool HasOnednnPointwise(const Node& node);
// Precondition: HasOnednnPointwise(*request.node), float32.
KernelOr MakeOnednnPointwise(const KernelRequest& request);

}  // namespace qb::execute
