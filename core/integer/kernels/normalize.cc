// Layer and RMS normalization of runs of values: exact moments, one reciprocal root for each run,
// one rounding for each code.
#include <bit>
#include <cstdint>

#include "core/integer/kernels/kernel_call.h"
#include "core/integer/kernels/wide.h"
#include "core/integer/normalization.h"
#include "core/integer/requant.h"

namespace qb::integer {
namespace {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

// 1 / sqrt(value) = reciprocal / 2^shift but for floors of 2^-31; 0 for 0.
struct ReciprocalRoot {
  int64_t reciprocal = 0;  // up to 2^32
  int32_t shift = 0;
};

// floor(sqrt(n)) for n in [2^62, 2^64). Newton's steps come down from 2^32; six of them reach the
// root from anywhere in [2^31, 2^32], and around the root they may stand one above it.
uint64_t Root(uint64_t n) {
  uint64_t root = uint64_t{1} << 32;
  for (int step = 0; step < 6; ++step) {
    root = (root + n / root) / 2;
  }
  return n / root < root ? root - 1 : root;
}

int32_t BitsOf(UnsignedWide value) {
  const uint64_t high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 64 + static_cast<int32_t>(std::bit_width(high))
                   : static_cast<int32_t>(std::bit_width(static_cast<uint64_t>(value)));
}

// Of value / 2^kVarianceBits.
ReciprocalRoot ReciprocalRootOf(UnsignedWide value) {
  if (value == 0) {
    return {0, 1};
  }
  // An even shift to 63 or 64 bits.
  const int32_t bits = BitsOf(value);
  const int32_t shift = bits - 64 + (bits & 1);
  const uint64_t n = static_cast<uint64_t>(shift > 0 ? value >> shift : value << -shift);
  const uint64_t root = Root(n);
  return {static_cast<int64_t>((uint64_t{1} << 63) / root), 63 + shift / 2 - kVarianceBits / 2};
}

// The same as RoundShift in 128 bits. Precondition: shift >= 1.
Wide RoundShiftWide(Wide value, int32_t shift) {
  const Wide half = Wide{1} << (shift - 1);
  return (value + half - 1 + ((value >> shift) & 1)) >> shift;
}

template <typename Code>
void RunRow(const KernelCall& call, const Code* x, int64_t first) {
  const auto& p = call.params<NormalizationParams>();
  const TensorInfo& info = call.output_tensor();
  const int64_t length = static_cast<int64_t>(p.scale.size());
  const int64_t zero = call.input_tensor(0).zero_point;
  int64_t sum = 0;
  int64_t squares = 0;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t value = x[i] - zero;
    sum += value;
    squares += value * value;
  }
  sum = p.centered ? sum : 0;
  const uint64_t moment = static_cast<uint64_t>(length * squares - sum * sum);
  const UnsignedWide epsilon = UnsignedWide{static_cast<uint32_t>(p.epsilon)} << p.epsilon_shift;
  const ReciprocalRoot root = ReciprocalRootOf((UnsignedWide{moment} << kVarianceBits) + epsilon);
  const int32_t shift = root.shift + p.shift;
  for (int64_t i = 0; i < length; ++i) {
    const size_t at = static_cast<size_t>(i);
    const int64_t deviation = length * (x[i] - zero) - sum;
    const int64_t scaled = deviation * root.reciprocal;
    const Wide value = Wide{scaled} * p.scale[at] + Wide{p.bias[at]} * (Wide{1} << root.shift);
    const Wide code = info.zero_point + RoundShiftWide(value, shift);
    const Wide least = LeastCode(info.dtype);
    const Wide most = MostCode(info.dtype);
    StoreCode(info.dtype, call.output, first + i,
              static_cast<int32_t>(code < least ? least : (code > most ? most : code)));
  }
}

}  // namespace

void RunNormalization(const KernelCall& call) {
  const int64_t length = static_cast<int64_t>(call.params<NormalizationParams>().scale.size());
  const int64_t elements = call.output_tensor().shape.elements();
  WithCodes(call, 0, [&](const auto* x) {
    for (int64_t first = 0; first < elements; first += length) {
      RunRow(call, x + first, first);
    }
  });
}

}  // namespace qb::integer
