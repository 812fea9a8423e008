// Convolution: the plain form, and the packed form that runs as a matrix product over pixels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/window.h"

namespace qb::integer {

// Weights and requantization tables laid out for one kernel level.
//
// A pixel's operands are `segments` runs of `segment_length` contiguous elements of a padded NHWC
// image (a run is a whole kernel row where it is contiguous, else one tap), each rounded up to
// quads of `quad` elements with zero weights. Packed weights of one group:
//   [channel block][segment][quad][lane][quad element]   with `lanes` channels a block
// so that one vector register holds a quad of every channel of a block.
struct PackedConv {
  Window window;
  int64_t groups = 1;
  int64_t group_in = 1, group_out = 1;  // channels of one group
  int64_t lanes = 16, quad = 4;
  int64_t blocks = 1;                   // of one group
  int64_t segment_length = 0, segment_quads = 0;
  std::vector<int64_t> segment_offsets;  // elements from the pixel's first operand
  bool depthwise = false;                // the depthwise layout of depthwise.cc instead
  bool wide = false;                     // 64-bit sums or 16-bit results: conv_wide.cc
  std::vector<int8_t> weights8;          // uint8 x int8 form
  std::vector<int16_t> weights16;        // int16 pair form, depthwise form; wide: the low bytes
  std::vector<int16_t> weights16_high;   // wide form of 16-bit weights: the high bytes
  // By group and padded channel (blocks * lanes each):
  std::vector<int32_t> offset;           // added to the raw sum to give the accumulator
  std::vector<int32_t> mantissa;
  std::vector<int64_t> shift;
};

// Packs a valid layer for `level` (not kReference).
std::unique_ptr<const PackedConv> PackConv(const Layer& layer, const Network& network,
                                           KernelLevel level);

// The plain form, straight from the definition.
void RunConvReference(const KernelCall& call);
// The packed forms.
void RunConvPacked(const KernelCall& call, const PackedConv& packed);
void RunDepthwisePacked(const KernelCall& call, const PackedConv& packed);
void RunConvWide(const KernelCall& call, const PackedConv& packed);
// Taps outermost: [tap][channel].
void PackWideDepthwise(const ConvParams& conv, PackedConv& packed);
void PackDepthwise(const ConvParams& conv, KernelLevel level, PackedConv& packed);
bool UsesDepthwiseForm(const ConvParams& conv, const Window& window);

// Rows [first, first + rows) of a padded image. A row has padded_w() pixels of `pixel_stride` elements
// (>= in_c; the rest is zero).
struct StripRows {
  int64_t first = 0, rows = 0;
  int64_t pixel_stride = 0;
};

// Copies those rows into `strip`, as T: code ^ 0x80 for uint8, code - zero point for int16. Padding
// holds real zero. Codes are int8, or int16 for int16 strips.
template <typename T, typename Code>
void FillStrip(const Window& window, const Code* image, int32_t zero_point,
               const StripRows& rows, T* strip);

}  // namespace qb::integer
