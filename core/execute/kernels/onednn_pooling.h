// Pooling of channel-last float32 through oneDNN, where its meaning is that of ONNX.
#pragma once

#include "core/execute/kernel.h"

namespace qb::execute {

// False for NCHW, for windows that may lie in padding alone, and for an average that counts padding
// while ceil_mode reaches beyond the padded border.
bool OnednnPoolingMatches(const Node& node);
// Precondition: OnednnPoolingMatches(*request.node), float32.
KernelOr MakeOnednnPooling(const KernelRequest& request);

}  // namespace qb::execute
