#include "core/integer/kernels/micro.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {
constexpr int64_t kLanes = 8;
constexpr int64_t kPair = 2;
}  // namespace

void MicroPortable(const MicroTile& tile, int64_t rows, int64_t blocks) {
  const int16_t* weights = static_cast<const int16_t*>(tile.weights);
  for (int64_t r = 0; r < rows; ++r) {
    const int16_t* pixel = static_cast<const int16_t*>(tile.pixels[r]);
    for (int64_t b = 0; b < blocks; ++b) {
      int32_t acc[kLanes] = {};
      const int16_t* w = weights + b * tile.block_stride;
      for (int64_t s = 0; s < tile.segments; ++s) {
        const int16_t* x = pixel + tile.segment_offsets[s];
        for (int64_t q = 0; q < tile.segment_quads; ++q, x += kPair, w += kPair * kLanes) {
          for (int64_t lane = 0; lane < kLanes; ++lane) {
            acc[lane] += x[0] * w[2 * lane] + x[1] * w[2 * lane + 1];
          }
        }
      }
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        tile.raw[r * tile.raw_stride + b * kLanes + lane] = acc[lane];
      }
    }
  }
}

void RequantPortable(const RequantRow& row, const int32_t* raw, int64_t channels, int8_t* codes) {
  for (int64_t c = 0; c < channels; ++c) {
    // The sum of raw and offset is the accumulator, which fits; the raw sum may have wrapped.
    const int32_t acc =
        static_cast<int32_t>(static_cast<uint32_t>(raw[c]) + static_cast<uint32_t>(row.offset[c]));
    const Requant requant{row.mantissa[c], static_cast<int32_t>(row.shift[c])};
    codes[c] = static_cast<int8_t>(ApplyRequant(acc, requant, row.zero_point, row.low, row.high));
  }
}

#if !defined(__x86_64__)
void MicroAvx512Vnni(const MicroTile& tile, int64_t rows, int64_t blocks) {
  MicroPortable(tile, rows, blocks);
}
void MicroAvx2(const MicroTile& tile, int64_t rows, int64_t blocks) {
  MicroPortable(tile, rows, blocks);
}
void RequantAvx512(const RequantRow& row, const int32_t* raw, int64_t channels, int8_t* codes) {
  RequantPortable(row, raw, channels, codes);
}
void RequantAvx2(const RequantRow& row, const int32_t* raw, int64_t channels, int8_t* codes) {
  RequantPortable(row, raw, channels, codes);
}
#endif

MicroKernel PairMicroKernel(KernelLevel level) {
  return level == KernelLevel::kAvx2 || level == KernelLevel::kAvx512Vnni ? MicroAvx2
                                                                          : MicroPortable;
}

RequantKernel RequantKernelFor(KernelLevel level) {
  switch (level) {
    case KernelLevel::kAvx512Vnni:
      return RequantAvx512;
    case KernelLevel::kAvx2:
      return RequantAvx2;
    default:
      return RequantPortable;
  }
}

}  // namespace qb::integer
