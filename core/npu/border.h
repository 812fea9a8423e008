// The border of targets whose inputs and outputs are codes.
#pragma once

#include "core/integer/network.h"

namespace qb::npu {

// The network without the Quantize layers that read its inputs and the Dequantize layers that write
// its outputs: those codes are the inputs and outputs then. An input that something else reads as float
// stays as it is.
integer::Network WithIntegerBorder(const integer::Network& network);

}  // namespace qb::npu
