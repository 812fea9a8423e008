#include "core/calibration/magnitude_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>

namespace qb {
namespace {

// Elements that are scanned for a maximum before anyone looks at them one by one.
constexpr size_t kBlock = 64;

struct BitExtremes {
  int32_t largest_signed = 0;     // the largest positive value, or 0
  uint32_t largest_unsigned = 0;  // the most negative value's bits when any is negative
};

// Compiled twice from one body: for any x86-64 and for AVX2. Integer work only, so both agree.
inline __attribute__((always_inline)) BitExtremes ScanExtremes(const uint32_t* bits, size_t count) {
  int32_t largest_signed = 0;
  uint32_t largest_unsigned = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t value = bits[i];
    largest_signed = std::max(largest_signed, static_cast<int32_t>(value));
    largest_unsigned = std::max(largest_unsigned, value);
  }
  return {largest_signed, largest_unsigned};
}

inline __attribute__((always_inline)) int32_t ScanBlock(const uint32_t* bits, MagnitudeSide side) {
  int32_t largest = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    largest = std::max(largest, MagnitudeOf(bits[i], side));
  }
  return largest;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) BitExtremes ScanExtremesAvx2(const uint32_t* bits, size_t count) {
  return ScanExtremes(bits, count);
}
__attribute__((target("avx2"))) int32_t ScanBlockAvx2(const uint32_t* bits, MagnitudeSide side) {
  return ScanBlock(bits, side);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#endif

BitExtremes ScanExtremesPlain(const uint32_t* bits, size_t count) {
  return ScanExtremes(bits, count);
}
int32_t ScanBlockPlain(const uint32_t* bits, MagnitudeSide side) { return ScanBlock(bits, side); }

// Floats as their bits; the span outlives the use.
const uint32_t* BitsOf(absl::Span<const float> values) {
  return reinterpret_cast<const uint32_t*>(values.data());
}

}  // namespace

Extremes FindExtremes(absl::Span<const float> values) {
#if defined(__x86_64__)
  const BitExtremes bits = HasAvx2() ? ScanExtremesAvx2(BitsOf(values), values.size())
                                     : ScanExtremesPlain(BitsOf(values), values.size());
#else
  const BitExtremes bits = ScanExtremesPlain(BitsOf(values), values.size());
#endif
  Extremes extremes;
  const uint32_t positive = static_cast<uint32_t>(bits.largest_signed);
  const bool any_negative = (bits.largest_unsigned & ~kMagnitudeMask) != 0;
  const uint32_t negative = any_negative ? bits.largest_unsigned & kMagnitudeMask : 0;
  extremes.finite = positive < kInfinityBits && negative < kInfinityBits;
  extremes.max = std::bit_cast<float>(positive);
  extremes.min = negative == 0 ? 0.0f : -std::bit_cast<float>(negative);
  return extremes;
}

void TopMagnitudes::Reset(MagnitudeSide side, uint32_t floor, int64_t most) {
  side_ = side;
  floor_ = floor;
  most_ = static_cast<size_t>(most);
  bits_.clear();
}

void TopMagnitudes::Add(absl::Span<const float> values) {
  const uint32_t* bits = BitsOf(values);
#if defined(__x86_64__)
  int32_t (*const scan)(const uint32_t*, MagnitudeSide) =
      HasAvx2() ? ScanBlockAvx2 : ScanBlockPlain;
#else
  int32_t (*const scan)(const uint32_t*, MagnitudeSide) = ScanBlockPlain;
#endif
  const size_t count = values.size();
  for (size_t begin = 0; begin < count; begin += kBlock) {
    const size_t end = std::min(count, begin + kBlock);
    if (end - begin == kBlock && static_cast<uint32_t>(scan(bits + begin, side_)) <= floor_) {
      continue;
    }
    for (size_t i = begin; i < end; ++i) {
      const int32_t magnitude = MagnitudeOf(bits[i], side_);
      if (magnitude > static_cast<int32_t>(floor_)) {
        bits_.push_back(static_cast<uint32_t>(magnitude));
      }
    }
    if (bits_.size() >= 2 * most_ + kBlock) {
      Prune();
    }
  }
}

void TopMagnitudes::Prune() {
  if (bits_.size() <= most_) {
    return;
  }
  const auto last = bits_.begin() + static_cast<std::ptrdiff_t>(most_ - 1);
  std::nth_element(bits_.begin(), last, bits_.end(), std::greater<>());
  bits_.resize(most_);
  // Equal values beyond the list are interchangeable with those in it.
  floor_ = std::max(floor_, bits_.back());
}

absl::Span<const uint32_t> TopMagnitudes::Take() {
  Prune();
  return bits_;
}

}  // namespace qb
