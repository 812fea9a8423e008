// The smallest and largest value of each channel: what scales by channel are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

namespace qb {

// By index of the last axis. Zero counts as seen in every channel: min <= 0 <= max.
struct ChannelExtremes {
  std::vector<float> min, max;
};

// The result depends on the set of samples alone. Thread-safe.
class ChannelObserver {
 public:
  explicit ChannelObserver(int64_t channels);

  // Adds one sample's values, a multiple of the number of channels.
  void Observe(absl::Span<const float> values);

  ChannelExtremes Result() const;

 private:
  mutable absl::Mutex mutex_;
  ChannelExtremes extremes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb
