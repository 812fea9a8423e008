// The innermost loops of the packed convolution: a few pixels times a few blocks of channels.
#pragma once

#include <cstdint>

#include "core/integer/kernel_level.h"

namespace qb::integer {

inline constexpr int64_t kMostRows = 6;    // pixels of a tile
inline constexpr int64_t kMostBlocks = 4;  // channel blocks of a tile

// One tile: raw[r][block * lanes + lane] = the sum over all segments of operand * weight.
struct MicroTile {
  const void* pixels[kMostRows];   // first operand of each pixel
  const int64_t* segment_offsets;  // elements
  int64_t segments = 0;
  int64_t segment_quads = 0;
  const void* weights = nullptr;   // of the first block
  int64_t block_stride = 0;        // elements from block to block
  int32_t* raw = nullptr;          // [rows][raw_stride]
  int64_t raw_stride = 0;
};

// `rows` in 1..kMostRows, `blocks` in 1..kMostBlocks.
using MicroKernel = void (*)(const MicroTile& tile, int64_t rows, int64_t blocks);

// uint8 pixels, int8 weights, 16 lanes, quads of 4.
void MicroAvx512Vnni(const MicroTile& tile, int64_t rows, int64_t blocks);
// int16 pixels and weights, 8 lanes, pairs (quad = 2).
void MicroAvx2(const MicroTile& tile, int64_t rows, int64_t blocks);
void MicroPortable(const MicroTile& tile, int64_t rows, int64_t blocks);

// Codes of `channels` channels of one pixel from raw sums; the tables hold a multiple of 8 entries
// (so do raw and offset, mantissa, shift) of which the first `channels` are stored.
struct RequantRow {
  const int32_t* offset;
  const int32_t* mantissa;
  const int64_t* shift;
  int32_t zero_point = 0;
  int32_t low = -128, high = 127;
};
using RequantKernel = void (*)(const RequantRow& row, const int32_t* raw, int64_t channels,
                               int8_t* codes);
void RequantAvx512(const RequantRow& row, const int32_t* raw, int64_t channels, int8_t* codes);
void RequantAvx2(const RequantRow& row, const int32_t* raw, int64_t channels, int8_t* codes);
void RequantPortable(const RequantRow& row, const int32_t* raw, int64_t channels, int8_t* codes);

// The form for a level: kAvx2 falls back to the portable loops on other processors.
MicroKernel PairMicroKernel(KernelLevel level);
RequantKernel RequantKernelFor(KernelLevel level);

}  // namespace qb::integer
