// Sums of products of 16-bit codes or weights, in 64 bits, built on the 16-bit pair kernels.
//
// A 16-bit weight w is 256 * high + low, low in [-128, 127], high in [-128, 128]. |x| <= 2^15, and
// 256 products of it with values up to 255 stay below 2^31: so many at a time are added in 32 bits,
// then widened. (255: an int8 operand less its zero point.)
#pragma once

#include <cstdint>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/micro.h"

namespace qb::integer {

inline constexpr int64_t kMostWidePairs = 128;

inline int32_t LowByte(int32_t weight) { return static_cast<int8_t>(weight & 0xff); }
inline int32_t HighByte(int32_t weight) { return (weight - LowByte(weight)) >> 8; }

// sums[r][lane] += factor * the tile's products; rows of `sums` lie raw_stride apart like those of raw.
// `tile` is laid out for pairs of 8 lanes.
struct TileExtent {
  int64_t rows, blocks;
};
void AddProducts(MicroKernel micro, const MicroTile& tile, TileExtent extent, int64_t factor,
                 int64_t* sums);

// Stores a code as the type of the output tensor.
inline void StoreCode(DType dtype, void* output, int64_t index, int32_t code) {
  if (dtype == DType::kInt16) {
    static_cast<int16_t*>(output)[index] = static_cast<int16_t>(code);
  } else {
    static_cast<int8_t*>(output)[index] = static_cast<int8_t>(code);
  }
}

// Whether any tensor of the layer is int16.
inline bool HasInt16(const KernelCall& call) {
  bool found = call.output_tensor().dtype == DType::kInt16;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    found = found || call.input_tensor(i).dtype == DType::kInt16;
  }
  return found;
}

// Calls run(pointer to the codes of input `index`) as the type that they have: int8 or int16.
template <typename Run>
void WithCodes(const KernelCall& call, size_t index, Run&& run) {
  if (call.input_tensor(index).dtype == DType::kInt16) {
    run(call.input<int16_t>(index));
  } else {
    run(call.input<int8_t>(index));
  }
}

}  // namespace qb::integer
