// Waiting times between tries: exponential with full jitter, so that many agents do not come back
// to a restarted server at the same moment.
#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/random/random.h"
#include "absl/time/time.h"

namespace qb::worker {

// One thread.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration most) : first_(first), most_(most) {}

  // Between a tenth and the whole of first * 2^n, at most `most`.
  absl::Duration Next() {
    const absl::Duration ceiling = std::min(most_, first_ * (int64_t{1} << tries_));
    tries_ = std::min(tries_ + 1, 20);
    return ceiling * absl::Uniform(random_, 0.1, 1.0);
  }
  void Reset() { tries_ = 0; }

 private:
  const absl::Duration first_;
  const absl::Duration most_;
  int tries_ = 0;
  absl::BitGen random_;
};

// What every caller of the server uses: 50 ms to 3 s.
inline Backoff ServerBackoff() { return Backoff(absl::Milliseconds(50), absl::Seconds(3)); }

}  // namespace qb::worker
