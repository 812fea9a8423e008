// The checks of one layer, by kind. Internal to ValidateLayer.
#pragma once

#include "absl/status/status.h"
#include "core/integer/network.h"

namespace qb::integer::internal {

// Messages do not name the layer. Tensors other than their indices are taken as valid, but shapes are
// checked again where a kernel would walk out of memory.
absl::Status CheckLayer(const Layer& layer, const Network& network);

}  // namespace qb::integer::internal
