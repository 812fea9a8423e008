// The packed form of convolutions with 64-bit sums or 16-bit results.
#include <algorithm>

#include "core/integer/kernels/conv.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

constexpr int64_t kStripBytes = 1 << 18;  // as in conv.cc
constexpr int64_t kLanes = 8;
constexpr int64_t kPair = 2;

// Runs strips of output rows.
class WideRunner {
 public:
  WideRunner(const KernelCall& call, const PackedConv& packed, const ConvParams& conv)
      : call_(call), p_(packed), conv_(conv), micro_(PairMicroKernel(call.level)) {}

  void Run(const int16_t* strip, int64_t first, int64_t rows) {
    for (int64_t group = 0; group < p_.groups; ++group) {
      for (int64_t block = 0; block < p_.blocks; block += kMostBlocks) {
        RunBlocks(strip, first * p_.window.out_w, rows * p_.window.out_w, group, block);
      }
    }
  }

 private:
  // `first_pixel` of the result, in `pixels` of which the strip holds the operands.
  void RunBlocks(const int16_t* strip, int64_t first_pixel, int64_t pixels, int64_t group,
                 int64_t block) {
    const Window& w = p_.window;
    const int64_t blocks = std::min(kMostBlocks, p_.blocks - block);
    const int64_t segments = static_cast<int64_t>(p_.segment_offsets.size());
    const int64_t block_stride = segments * p_.segment_quads * kPair * kLanes;
    const int64_t weights = (group * p_.blocks + block) * block_stride;
    MicroTile tile{{},           p_.segment_offsets.data(), segments, p_.segment_quads,
                   nullptr,      block_stride,              raw_,     kMostBlocks * kLanes};
    const int64_t channel = group * p_.group_out + block * kLanes;
    const int64_t channels = std::min(p_.group_out - block * kLanes, blocks * kLanes);
    for (int64_t pixel = 0; pixel < pixels; pixel += kMostRows) {
      const int64_t count = std::min(kMostRows, pixels - pixel);
      for (int64_t r = 0; r < count; ++r) {
        const int64_t oy = (pixel + r) / w.out_w;
        const int64_t ox = (pixel + r) % w.out_w;
        tile.pixels[r] = strip + group * p_.group_in +
                         (oy * w.stride_h * w.padded_w() + ox * w.stride_w) * w.in_c;
      }
      std::fill(std::begin(sums_), std::end(sums_), int64_t{0});
      tile.weights = p_.weights16.data() + weights;
      AddProducts(micro_, tile, {count, blocks}, 1, sums_);
      if (!p_.weights16_high.empty()) {
        tile.weights = p_.weights16_high.data() + weights;
        AddProducts(micro_, tile, {count, blocks}, 256, sums_);
      }
      for (int64_t r = 0; r < count; ++r) {
        Store(sums_ + r * tile.raw_stride, channel, channels, first_pixel + pixel + r);
      }
    }
  }

  void Store(const int64_t* sums, int64_t channel, int64_t channels, int64_t pixel) {
    const TensorInfo& y = call_.output_tensor();
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t m = channel + c;
      const int32_t code = ApplyWideRequant(sums[c] + conv_.bias_of(m),
                                            conv_.requant[static_cast<size_t>(m)], y.zero_point,
                                            conv_.clamp_min, conv_.clamp_max);
      StoreCode(y.dtype, call_.output, pixel * p_.window.out_c + m, code);
    }
  }

  const KernelCall& call_;
  const PackedConv& p_;
  const ConvParams& conv_;
  MicroKernel micro_;
  alignas(64) int32_t raw_[kMostRows * kMostBlocks * kLanes];
  alignas(64) int64_t sums_[kMostRows * kMostBlocks * kLanes];
};

// One result pixel of a depthwise layer: `sums` of all channels.
void DepthwisePixel(const PackedConv& p, const int16_t* pixel, int64_t* sums) {
  const int64_t channels = p.window.in_c;
  for (size_t tap = 0; tap < p.segment_offsets.size(); ++tap) {
    const int16_t* x = pixel + p.segment_offsets[tap];
    const int16_t* weights = p.weights16.data() + static_cast<int64_t>(tap) * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const int32_t product = x[c] * weights[c];
      sums[c] += product;
    }
  }
}

void RunDepthwiseStrip(const KernelCall& call, const PackedConv& p, const int16_t* strip,
                       int64_t first, int64_t rows) {
  const Window& w = p.window;
  const ConvParams& conv = call.params<ConvParams>();
  const TensorInfo& y = call.output_tensor();
  int64_t* sums = call.scratch.ReserveArray<int64_t>(3, w.out_c);
  for (int64_t oy = 0; oy < rows; ++oy) {
    for (int64_t ox = 0; ox < w.out_w; ++ox) {
      std::fill(sums, sums + w.out_c, int64_t{0});
      DepthwisePixel(p, strip + (oy * w.stride_h * w.padded_w() + ox * w.stride_w) * w.in_c, sums);
      const int64_t at = ((first + oy) * w.out_w + ox) * w.out_c;
      for (int64_t m = 0; m < w.out_c; ++m) {
        const int32_t code = ApplyWideRequant(sums[m] + conv.bias_of(m),
                                              conv.requant[static_cast<size_t>(m)], y.zero_point,
                                              conv.clamp_min, conv.clamp_max);
        StoreCode(y.dtype, call.output, at + m, code);
      }
    }
  }
}

}  // namespace

void PackWideDepthwise(const ConvParams& conv, PackedConv& p) {
  const Window& w = p.window;
  p.depthwise = true;
  p.weights16.resize(static_cast<size_t>(w.taps() * w.out_c));
  for (int64_t tap = 0; tap < w.taps(); ++tap) {
    p.segment_offsets.push_back(
        (tap / w.kernel_w * w.dilation_h * w.padded_w() + tap % w.kernel_w * w.dilation_w) * w.in_c);
    for (int64_t m = 0; m < w.out_c; ++m) {
      p.weights16[static_cast<size_t>(tap * w.out_c + m)] =
          static_cast<int16_t>(conv.weight(m * w.taps() + tap));
    }
  }
}

void RunConvWide(const KernelCall& call, const PackedConv& p) {
  const Window& w = p.window;
  const int64_t row_elements = w.padded_w() * w.in_c;
  const int64_t input_rows = std::max<int64_t>(w.extent_h(), kStripBytes / (2 * row_elements));
  const int64_t rows_of_strip = (input_rows - w.extent_h()) / w.stride_h + 1;
  WideRunner runner(call, p, call.params<ConvParams>());
  const RowRange range = call.OutputRows(w.out_h);
  for (int64_t first = range.begin; first < range.end; first += rows_of_strip) {
    const int64_t rows = std::min(rows_of_strip, range.end - first);
    const int64_t needed = (rows - 1) * w.stride_h + w.extent_h();
    int16_t* strip = call.scratch.ReserveArray<int16_t>(0, needed * row_elements);
    WithCodes(call, 0, [&](const auto* codes) {
      FillStrip(w, codes, call.input_tensor(0).zero_point,
                StripRows{first * w.stride_h, needed, w.in_c}, strip);
    });
    if (p.depthwise) {
      RunDepthwiseStrip(call, p, strip, first, rows);
    } else {
      runner.Run(strip, first, rows);
    }
  }
}

}  // namespace qb::integer
