// The inner loop of every observer: extremes of a row of floats, and the few values above a floor.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace qb {

// Magnitudes are handled as the bits of |x|: for finite floats their integer order is the order of
// the magnitudes, and integer extremes vectorize without any licence to reorder arithmetic.
inline constexpr uint32_t kMagnitudeMask = 0x7fffffffu;
inline constexpr uint32_t kInfinityBits = 0x7f800000u;

struct Extremes {
  float min = 0.0f, max = 0.0f;  // of all values and zero
  bool finite = true;
};

Extremes FindExtremes(absl::Span<const float> values);

// Which values count: all by their magnitude, or those of one sign.
enum class MagnitudeSide { kBoth, kPositive, kNegative };

// The bits of |x| as a number above zero; at most zero for a value of the other side.
inline int32_t MagnitudeOf(uint32_t bits, MagnitudeSide side) {
  const uint32_t flip = side == MagnitudeSide::kNegative ? ~kMagnitudeMask : 0;
  const uint32_t mask = side == MagnitudeSide::kBoth ? kMagnitudeMask : ~uint32_t{0};
  return static_cast<int32_t>((bits ^ flip) & mask);
}

// The `most` largest magnitudes of a side above `floor` seen so far, with a floor that rises as the
// list fills. One thread; reused from tensor to tensor so that the memory is allocated once.
class TopMagnitudes {
 public:
  // Forgets everything. Values <= floor (bits of |x|) are not wanted; most >= 1.
  void Reset(MagnitudeSide side, uint32_t floor, int64_t most);
  void Add(absl::Span<const float> values);
  // At most `most` magnitudes (bits), in no particular order.
  absl::Span<const uint32_t> Take();

 private:
  void Prune();

  MagnitudeSide side_ = MagnitudeSide::kBoth;
  uint32_t floor_ = 0;
  size_t most_ = 1;
  std::vector<uint32_t> bits_;
};

}  // namespace qb
