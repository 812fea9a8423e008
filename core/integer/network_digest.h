// A name for what a network computes.
#pragma once

#include <string>

#include "core/integer/network.h"

namespace qb::integer {

// SHA-256 in hex over tensors, constants, layers and their order, every parameter included; names
// are left out. Two networks with one digest compute the same bits of every input.
std::string NetworkDigest(const Network& network);

}  // namespace qb::integer
