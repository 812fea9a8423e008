#include "core/integer/kernels/depthwise.h"

#include <algorithm>

#include "core/integer/kernels/conv.h"
#include "core/integer/kernels/micro.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace qb::integer {
namespace {

constexpr int64_t kStripBytes = 1 << 18;  // as in conv.cc

int64_t PaddedChannels(const Window& w) {
  return (w.in_c + kDepthwiseLanes - 1) / kDepthwiseLanes * kDepthwiseLanes;
}

}  // namespace

bool UsesDepthwiseForm(const ConvParams& conv, const Window& window) {
  return conv.groups > 1 && conv.groups == window.in_c && window.out_c == window.in_c;
}

void PackDepthwise(const ConvParams& conv, KernelLevel, PackedConv& p) {
  const Window& w = p.window;
  const int64_t channels = PaddedChannels(w);
  p.depthwise = true;
  p.lanes = kDepthwiseLanes;
  p.blocks = channels / kDepthwiseLanes;
  for (int64_t ky = 0; ky < w.kernel_h; ++ky) {
    for (int64_t kx = 0; kx < w.kernel_w; ++kx) {
      p.segment_offsets.push_back(
          (ky * w.dilation_h * w.padded_w() + kx * w.dilation_w) * channels);
    }
  }
  if (w.taps() % 2 != 0) {
    p.segment_offsets.push_back(0);  // met by zero weights
  }
  const int64_t pairs = static_cast<int64_t>(p.segment_offsets.size()) / 2;
  const int64_t block_elements = pairs * 2 * kDepthwiseLanes;
  p.weights16.assign(static_cast<size_t>(p.blocks * block_elements), 0);
  for (int64_t block = 0; block < p.blocks; ++block) {
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      for (int64_t slot = 0; slot < kDepthwiseLanes; ++slot) {
        const int64_t c = block * kDepthwiseLanes + DepthwiseLane(slot);
        if (c < w.in_c) {
          p.weights16[static_cast<size_t>(block * block_elements +
                                          (tap / 2 * kDepthwiseLanes + slot) * 2 + tap % 2)] =
              static_cast<int16_t>(conv.weight(c * w.taps() + tap));
        }
      }
    }
  }
  const size_t entries = static_cast<size_t>(channels);
  p.offset.assign(entries, 0);
  p.mantissa.assign(entries, 0);
  p.shift.assign(entries, 1);
  for (size_t c = 0; c < static_cast<size_t>(w.in_c); ++c) {
    p.offset[c] = conv.bias[c];
    p.mantissa[c] = conv.requant[c].mantissa;
    p.shift[c] = conv.requant[c].shift;
  }
}

void DepthwisePortable(const int16_t* pixel, const int64_t* tap_offsets, int64_t pairs,
                       const int16_t* weights, int32_t* raw) {
  std::fill(raw, raw + kDepthwiseLanes, 0);
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const int16_t* a = pixel + tap_offsets[2 * pair];
    const int16_t* b = pixel + tap_offsets[2 * pair + 1];
    for (int64_t slot = 0; slot < kDepthwiseLanes; ++slot, weights += 2) {
      const int64_t lane = DepthwiseLane(slot);
      raw[lane] += a[lane] * weights[0] + b[lane] * weights[1];
    }
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void DepthwiseAvx2(const int16_t* pixel,
                                                   const int64_t* tap_offsets, int64_t pairs,
                                                   const int16_t* weights, int32_t* raw) {
  __m256i low = _mm256_setzero_si256();
  __m256i high = _mm256_setzero_si256();
  for (int64_t pair = 0; pair < pairs; ++pair, weights += 32) {
    const __m256i a =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel + tap_offsets[2 * pair]));
    const __m256i b =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(pixel + tap_offsets[2 * pair + 1]));
    const __m256i w_low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
    const __m256i w_high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights + 16));
    low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w_low));
    high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w_high));
  }
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(raw), _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(raw + 8),
                      _mm256_permute2x128_si256(low, high, 0x31));
}
#else
void DepthwiseAvx2(const int16_t* pixel, const int64_t* tap_offsets, int64_t pairs,
                   const int16_t* weights, int32_t* raw) {
  DepthwisePortable(pixel, tap_offsets, pairs, weights, raw);
}
#endif

namespace {

struct DepthwiseStrip {
  const int16_t* input;
  int64_t first;
  int64_t rows;
};

void RunStrip(const KernelCall& call, const PackedConv& p, const DepthwiseStrip& strip) {
  const Window& w = p.window;
  const ConvParams& conv = call.params<ConvParams>();
  const int64_t stride = PaddedChannels(w);
  const int64_t pairs = static_cast<int64_t>(p.segment_offsets.size()) / 2;
  const DepthwiseKernel kernel =
      call.level == KernelLevel::kPortable ? DepthwisePortable : DepthwiseAvx2;
  const RequantKernel requant = RequantKernelFor(call.level);
  alignas(64) int32_t raw[kDepthwiseLanes];
  for (int64_t block = 0; block < p.blocks; ++block) {
    const int64_t c = block * kDepthwiseLanes;
    const RequantRow row{p.offset.data() + c,  p.mantissa.data() + c,
                         p.shift.data() + c,   call.output_tensor().zero_point,
                         conv.clamp_min,       conv.clamp_max};
    const int16_t* weights = p.weights16.data() + block * pairs * 2 * kDepthwiseLanes;
    const int64_t channels = std::min(kDepthwiseLanes, w.in_c - c);
    int8_t* out = call.out<int8_t>() + strip.first * w.out_w * w.out_c + c;
    for (int64_t oy = 0; oy < strip.rows; ++oy) {
      const int16_t* pixel = strip.input + oy * w.stride_h * w.padded_w() * stride + c;
      for (int64_t ox = 0; ox < w.out_w; ++ox, pixel += w.stride_w * stride, out += w.out_c) {
        kernel(pixel, p.segment_offsets.data(), pairs, weights, raw);
        requant(row, raw, channels, out);
      }
    }
  }
}

}  // namespace

void RunDepthwisePacked(const KernelCall& call, const PackedConv& p) {
  const Window& w = p.window;
  const int64_t row_elements = w.padded_w() * PaddedChannels(w);
  const int64_t input_rows = std::max<int64_t>(w.extent_h(), kStripBytes / (2 * row_elements));
  const int64_t rows_of_strip = (input_rows - w.extent_h()) / w.stride_h + 1;
  const RowRange range = call.OutputRows(w.out_h);
  for (int64_t first = range.begin; first < range.end; first += rows_of_strip) {
    const int64_t rows = std::min(rows_of_strip, range.end - first);
    const int64_t needed = (rows - 1) * w.stride_h + w.extent_h();
    int16_t* strip = call.scratch.ReserveArray<int16_t>(0, needed * row_elements);
    FillStrip(w, call.input<int8_t>(0), call.input_tensor(0).zero_point,
                       StripRows{first * w.stride_h, needed, PaddedChannels(w)}, strip);
    RunStrip(call, p, {strip, first, rows});
  }
}

}  // namespace qb::integer
