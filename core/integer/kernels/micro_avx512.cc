// uint8 x int8 quadruples with vpdpbusd. Unlike vpmaddubsw it adds the four products into 32 bits
// without saturation, so sums are exact modulo 2^32, and the accumulator proof makes them exact.
#include "core/integer/kernels/micro.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#define QB_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

namespace qb::integer {
namespace {

constexpr int64_t kLanes = 16;
constexpr int64_t kQuad = 4;

template <int R, int B>
QB_AVX512 void Tile(const MicroTile& tile) {
  __m512i acc[R][B] = {};
  const int8_t* weights = static_cast<const int8_t*>(tile.weights);
  for (int64_t s = 0; s < tile.segments; ++s) {
    const uint8_t* x[R];
    for (int r = 0; r < R; ++r) {
      x[r] = static_cast<const uint8_t*>(tile.pixels[r]) + tile.segment_offsets[s];
    }
    for (int64_t q = 0; q < tile.segment_quads; ++q, weights += kQuad * kLanes) {
      __m512i w[B];
      for (int b = 0; b < B; ++b) {
        w[b] = _mm512_loadu_si512(weights + b * tile.block_stride);
      }
      for (int r = 0; r < R; ++r) {
        int32_t four;
        std::memcpy(&four, x[r] + kQuad * q, sizeof(four));
        const __m512i pixel = _mm512_set1_epi32(four);
        for (int b = 0; b < B; ++b) {
          acc[r][b] = _mm512_dpbusd_epi32(acc[r][b], pixel, w[b]);
        }
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (int b = 0; b < B; ++b) {
      _mm512_storeu_si512(tile.raw + r * tile.raw_stride + b * kLanes, acc[r][b]);
    }
  }
}

template <int R>
void Rows(const MicroTile& tile, int64_t blocks) {
  switch (blocks) {
    case 1:
      return Tile<R, 1>(tile);
    case 2:
      return Tile<R, 2>(tile);
    case 3:
      return Tile<R, 3>(tile);
    default:
      return Tile<R, 4>(tile);
  }
}

}  // namespace

void MicroAvx512Vnni(const MicroTile& tile, int64_t rows, int64_t blocks) {
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

QB_AVX512 void RequantAvx512(const RequantRow& row, const int32_t* raw, int64_t channels,
                             int8_t* codes) {
  const __m512i one = _mm512_set1_epi64(1);
  const __m512i zero_point = _mm512_set1_epi64(row.zero_point);
  const __m512i low = _mm512_set1_epi64(row.low);
  const __m512i high = _mm512_set1_epi64(row.high);
  for (int64_t c = 0; c < channels; c += 8) {
    const __m256i acc =
        _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(raw + c)),
                         _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.offset + c)));
    const __m256i mantissa =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row.mantissa + c));
    const __m512i shift = _mm512_loadu_si512(row.shift + c);
    const __m512i product =
        _mm512_mul_epi32(_mm512_cvtepi32_epi64(acc), _mm512_cvtepi32_epi64(mantissa));
    const __m512i odd = _mm512_and_si512(_mm512_srav_epi64(product, shift), one);
    const __m512i half = _mm512_sllv_epi64(one, _mm512_sub_epi64(shift, one));
    const __m512i rounded =
        _mm512_add_epi64(product, _mm512_add_epi64(_mm512_sub_epi64(half, one), odd));
    __m512i value = _mm512_add_epi64(_mm512_srav_epi64(rounded, shift), zero_point);
    value = _mm512_min_epi64(_mm512_max_epi64(value, low), high);
    const __m128i bytes = _mm512_cvtepi64_epi8(value);
    if (channels - c >= 8) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(codes + c), bytes);
    } else {
      _mm_mask_storeu_epi8(codes + c, static_cast<__mmask16>((1U << (channels - c)) - 1), bytes);
    }
  }
}

}  // namespace qb::integer
#endif  // __x86_64__
