// The largest magnitudes of one tensor, exactly or by counts.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "core/calibration/clip_choice.h"
#include "core/calibration/magnitude_scan.h"

namespace qb {

// What lies between the rank-th largest magnitude of a side and the largest one. A pool keeps the
// `rank` largest magnitudes of everything seen (a value that is dropped has that many values above
// it, so it is below the percentile); counts over the upper 16 bits of the magnitude are a sum of
// integers. Either way the result depends on the set of values alone. One thread at a time.
class MagnitudeTail {
 public:
  enum class Kind { kPool, kCounts };
  // Memory of kCounts; that of kPool is 8 bytes a rank.
  static constexpr int64_t kCountsBytes = int64_t{8} << 16;
  MagnitudeTail(Kind kind, MagnitudeSide side, int64_t rank);

  Kind kind() const { return kind_; }
  MagnitudeSide side() const { return side_; }

  // kPool: magnitudes (bits) that a sample offers; the new floor, at or below which none matters.
  uint32_t Merge(absl::Span<const uint32_t> magnitudes);
  // kCounts.
  void Count(absl::Span<const float> values);

  // Magnitudes from the largest down to the rank-th, with how often each occurs. Those of kCounts
  // are the largest of their bin, within 0.8 %, and at most `largest`.
  std::vector<MagnitudeCount> Falling(float largest) const;

 private:
  Kind kind_;
  MagnitudeSide side_;
  int64_t rank_;
  std::vector<uint32_t> pool_;
  std::vector<int64_t> counts_;
};

}  // namespace qb
