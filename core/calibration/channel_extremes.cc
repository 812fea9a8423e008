#include "core/calibration/channel_extremes.h"

#include <algorithm>

#include "core/base/check.h"

namespace qb {

ChannelObserver::ChannelObserver(int64_t channels) {
  QB_CHECK(channels >= 1);
  absl::MutexLock lock(&mutex_);
  extremes_.min.assign(static_cast<size_t>(channels), 0.0f);
  extremes_.max.assign(static_cast<size_t>(channels), 0.0f);
}

void ChannelObserver::Observe(absl::Span<const float> values) {
  // The number of channels never changes, so the sample is scanned outside of the lock.
  ChannelExtremes sample = Result();
  const size_t channels = sample.min.size();
  QB_CHECK(values.size() % channels == 0);
  float* const low = sample.min.data();
  float* const high = sample.max.data();
  for (size_t at = 0; at < values.size(); at += channels) {
    const float* row = values.data() + at;
    for (size_t c = 0; c < channels; ++c) {
      low[c] = std::min(low[c], row[c]);
      high[c] = std::max(high[c], row[c]);
    }
  }
  absl::MutexLock lock(&mutex_);
  for (size_t c = 0; c < channels; ++c) {
    extremes_.min[c] = std::min(extremes_.min[c], low[c]);
    extremes_.max[c] = std::max(extremes_.max[c], high[c]);
  }
}

ChannelExtremes ChannelObserver::Result() const {
  absl::MutexLock lock(&mutex_);
  return extremes_;
}

}  // namespace qb
