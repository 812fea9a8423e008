// The statistics of one tensor, gathered from several threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/calibration/clip_choice.h"
#include "core/calibration/magnitude_scan.h"
#include "core/calibration/tensor_statistics.h"

namespace qb {

// How a RangeObserver finds its threshold.
struct RangePolicy {
  enum class Kind {
    kMax,        // the largest magnitude
    kPool,       // at least the `rank`-th largest magnitude, from a pool of that many (ChooseClip)
    kHistogram,  // the same from counts over the upper 16 bits of the magnitude: within 0.8 %
  };
  Kind kind = Kind::kMax;
  int64_t rank = 1;           // kPool, kHistogram: the threshold is at least the rank-th largest
  int64_t most_a_sample = 1;  // kPool: how many of one sample's largest magnitudes may enter
  int levels = 127;           // codes from zero to the threshold
};

// The result depends on the set of samples alone: not on their order, not on the thread that
// observed them. Extremes and counts are exact; the pool keeps the `rank` largest magnitudes of
// everything seen (a value that is dropped has that many values above it, so it is below the
// percentile); a histogram is a sum of integers. Thread-safe.
class RangeObserver {
 public:
  explicit RangeObserver(RangePolicy policy);

  // Adds one sample's values. `scratch` belongs to the calling thread. Returns false when a value
  // is NaN or infinite; then nothing was added.
  bool Observe(absl::Span<const float> values, TopMagnitudes& scratch);

  TensorStatistics Result() const;

 private:
  void MergePool(absl::Span<const uint32_t> magnitudes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountMagnitudes(absl::Span<const float> values) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Magnitudes from the largest down to the rank-th, with how often each occurs.
  std::vector<MagnitudeCount> Tail() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RangePolicy policy_;
  // Magnitudes at or below cannot matter any more (kPool). Only rises.
  std::atomic<uint32_t> floor_{0};
  mutable absl::Mutex mutex_;
  int64_t elements_ ABSL_GUARDED_BY(mutex_) = 0;
  float min_ ABSL_GUARDED_BY(mutex_) = 0.0f;
  float max_ ABSL_GUARDED_BY(mutex_) = 0.0f;
  std::vector<uint32_t> pool_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb
