// How far windows reach beyond an image.
#pragma once

#include <cstdint>

namespace qb::execute {

// One spatial dimension of a convolution or pooling, in elements.
struct WindowSpan {
  int64_t size, kernel, stride, dilation, pad_before;
};

// How far the last of `results` windows reaches beyond the operand; negative when it ends inside.
inline int64_t ReachAfter(const WindowSpan& span, int64_t results) {
  return (results - 1) * span.stride + (span.kernel - 1) * span.dilation + 1 - span.pad_before -
         span.size;
}

}  // namespace qb::execute
