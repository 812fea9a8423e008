// int16 pairs with vpmaddwd: exact, since |x - zp| <= 255 and |w| <= 127.
#include "core/integer/kernels/micro.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#define QB_AVX2 __attribute__((target("avx2")))

namespace qb::integer {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kPair = 2;

template <int R, int B>
QB_AVX2 void Tile(const MicroTile& tile) {
  __m256i acc[R][B] = {};
  const int16_t* weights = static_cast<const int16_t*>(tile.weights);
  for (int64_t s = 0; s < tile.segments; ++s) {
    const int16_t* x[R];
    for (int r = 0; r < R; ++r) {
      x[r] = static_cast<const int16_t*>(tile.pixels[r]) + tile.segment_offsets[s];
    }
    for (int64_t q = 0; q < tile.segment_quads; ++q, weights += kPair * kLanes) {
      __m256i w[B];
      for (int b = 0; b < B; ++b) {
        w[b] = _mm256_loadu_si256(
            reinterpret_cast<const __m256i*>(weights + b * tile.block_stride));
      }
      for (int r = 0; r < R; ++r) {
        int32_t pair;
        std::memcpy(&pair, x[r] + kPair * q, sizeof(pair));
        const __m256i pixel = _mm256_set1_epi32(pair);
        for (int b = 0; b < B; ++b) {
          acc[r][b] = _mm256_add_epi32(acc[r][b], _mm256_madd_epi16(pixel, w[b]));
        }
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int b = 0; b < B; ++b) {
      _mm256_storeu_si256(
          reinterpret_cast<__m256i*>(tile.raw + r * tile.raw_stride + b * kLanes), acc[r][b]);
    }
  }
}

// Two blocks a time: 12 accumulators, 2 weights, a pixel and a product fill the 16 registers.
template <int R>
QB_AVX2 void Rows(const MicroTile& tile, int64_t blocks) {
  MicroTile part = tile;
  int64_t b = 0;
  for (; b + 2 <= blocks; b += 2) {
    Tile<R, 2>(part);
    part.weights = static_cast<const int16_t*>(part.weights) + 2 * tile.block_stride;
    part.raw += 2 * kLanes;
  }
  if (b < blocks) {
    Tile<R, 1>(part);
  }
}

// Four accumulators, two at a time in 64-bit lanes, with the shift done unsigned: AVX2 has no
// arithmetic 64-bit shift, so 2^63 is added before and 2^(63 - shift) taken away after.
QB_AVX2 inline __m256i RescaleFour(__m128i acc, __m128i mantissa, __m256i shift) {
  const __m256i one = _mm256_set1_epi64x(1);
  const __m256i sign = _mm256_set1_epi64x(static_cast<int64_t>(uint64_t{1} << 63));
  const __m256i product =
      _mm256_mul_epi32(_mm256_cvtepi32_epi64(acc), _mm256_cvtepi32_epi64(mantissa));
  const __m256i biased = _mm256_xor_si256(product, sign);
  const __m256i odd = _mm256_and_si256(_mm256_srlv_epi64(biased, shift), one);
  const __m256i half = _mm256_sllv_epi64(one, _mm256_sub_epi64(shift, one));
  const __m256i rounded = _mm256_add_epi64(biased, _mm256_add_epi64(_mm256_sub_epi64(half, one), odd));
  return _mm256_sub_epi64(_mm256_srlv_epi64(rounded, shift), _mm256_srlv_epi64(sign, shift));
}

QB_AVX2 inline __m256i Clamp64(__m256i value, __m256i low, __m256i high) {
  value = _mm256_blendv_epi8(value, low, _mm256_cmpgt_epi64(low, value));
  return _mm256_blendv_epi8(value, high, _mm256_cmpgt_epi64(value, high));
}

}  // namespace

void MicroAvx2(const MicroTile& tile, int64_t rows, int64_t blocks) {
  switch (rows) {
    case 1:
      return Rows<1>(tile, blocks);
    case 2:
      return Rows<2>(tile, blocks);
    case 3:
      return Rows<3>(tile, blocks);
    case 4:
      return Rows<4>(tile, blocks);
    case 5:
      return Rows<5>(tile, blocks);
    default:
      return Rows<6>(tile, blocks);
  }
}

QB_AVX2 void RequantAvx2(const RequantRow& row, const int32_t* raw, int64_t channels,
                         int8_t* codes) {
  const __m256i zero_point = _mm256_set1_epi64x(row.zero_point);
  const __m256i low = _mm256_set1_epi64x(row.low);
  const __m256i high = _mm256_set1_epi64x(row.high);
  // Byte 0 of each 64-bit lane.
  const __m256i gather = _mm256_setr_epi8(0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, 0, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                          -1, -1);
  for (int64_t c = 0; c < channels; c += 4) {
    const __m128i acc =
        _mm_add_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(raw + c)),
                      _mm_loadu_si128(reinterpret_cast<const __m128i*>(row.offset + c)));
    const __m128i mantissa = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row.mantissa + c));
    const __m256i shift = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.shift + c));
    __m256i value = _mm256_add_epi64(RescaleFour(acc, mantissa, shift), zero_point);
    value = _mm256_shuffle_epi8(Clamp64(value, low, high), gather);
    const int32_t packed = (_mm256_extract_epi16(value, 0) & 0xffff) |
                           (_mm256_extract_epi16(value, 8) << 16);
    std::memcpy(codes + c, &packed, static_cast<size_t>(channels - c < 4 ? channels - c : 4));
  }
}

}  // namespace qb::integer
#endif  // __x86_64__
