// The statistics of one tensor, gathered from several threads at once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/calibration/clip_choice.h"
#include "core/calibration/histogram_choice.h"
#include "core/calibration/magnitude_scan.h"
#include "core/calibration/magnitude_tail.h"
#include "core/calibration/signed_histogram.h"
#include "core/calibration/tensor_statistics.h"

namespace qb {

// How a RangeObserver finds its threshold.
struct RangePolicy {
  enum class Kind {
    kMax,        // the largest magnitude
    kPool,       // at least the `rank`-th largest magnitude, from a pool of that many (ChooseClip)
    kCounts,     // the same from counts over the upper 16 bits of the magnitude: within 0.8 %
    kHistogram,  // what `objective` says, from a SignedHistogram (ChooseEnds)
  };
  Kind kind = Kind::kMax;
  int64_t rank = 1;           // kPool, kCounts: the threshold is at least the rank-th largest
  int64_t most_a_sample = 1;  // kPool: how many of one sample's largest magnitudes may enter
  int levels = 127;           // codes from zero to the threshold; two_sided: from end to end
  // Both ends of the codes are chosen, for codes with a zero point; `rank` and `most_a_sample` then
  // count the magnitudes of one side.
  bool two_sided = false;
  int64_t bins = 2048;  // kHistogram: on each side, a power of two
  HistogramObjective objective = HistogramObjective::kMse;
  double percentile = 0.9999;  // kHistogram with that objective
};

// Memory that one thread lends to one observer after another.
struct ObserverScratch {
  std::array<TopMagnitudes, 2> top;  // one a side
  std::optional<SignedHistogram> histogram;
};

// The result depends on the set of samples alone: not on their order, not on the thread that
// observed them. Extremes, pools and counts are exact. Thread-safe.
class RangeObserver {
 public:
  explicit RangeObserver(RangePolicy policy);

  // Adds one sample's values. `scratch` belongs to the calling thread. Returns false when a value
  // is NaN or infinite; then nothing was added.
  bool Observe(absl::Span<const float> values, ObserverScratch& scratch);

  TensorStatistics Result() const;

 private:
  // Extremes of one sample; its largest magnitudes, where they count, are in scratch.top then.
  Extremes Scan(absl::Span<const float> values, ObserverScratch& scratch) const;
  void ChooseFromTails(TensorStatistics& statistics) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChooseFromHistogram(TensorStatistics& statistics) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const RangePolicy policy_;
  const size_t sides_;  // tails in use: one, or two for positive and negative magnitudes
  std::array<std::atomic<uint32_t>, 2> floors_ = {0, 0};  // magnitudes that no pool wants
  mutable absl::Mutex mutex_;
  int64_t elements_ ABSL_GUARDED_BY(mutex_) = 0;
  float min_ ABSL_GUARDED_BY(mutex_) = 0.0f;
  float max_ ABSL_GUARDED_BY(mutex_) = 0.0f;
  std::vector<MagnitudeTail> tails_ ABSL_GUARDED_BY(mutex_);
  std::optional<SignedHistogram> histogram_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb
