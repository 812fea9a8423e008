// The border of targets whose inputs and outputs are codes.
#pragma once

#include "core/integer/network.h"

namespace qb::npu {

// The network without the Quantize layers that read its inputs and the Dequantize layers that write
// its outputs: those codes are the inputs and outputs then, under the names of the real numbers. A
// value that is two outputs, or an input and an output, is copied for the second name. An input
// that something else reads as float stays as it is.
integer::Network WithIntegerBorder(const integer::Network& network);

}  // namespace qb::npu
