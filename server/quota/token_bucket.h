// A rate with a reserve for bursts.
#pragma once

#include <cstdint>

namespace qb::server {

// Holds up to `burst` units and gains `rate` units a second. Taking needs a bucket that is not
// empty and may leave it in debt, so one piece larger than the burst gets through and is waited
// for afterwards. Thread-compatible. Times are monotonic milliseconds.
class TokenBucket {
 public:
  // Full at first. `rate` > 0 and `burst` >= 1.
  TokenBucket(double rate, double burst, int64_t now_ms);

  // Milliseconds until Take may be called; 0: now.
  int64_t WaitMs(int64_t now_ms);
  void Take(double units, int64_t now_ms);
  // Other limits from now on; what is in the bucket stays, as far as it has room.
  void SetLimits(double rate, double burst, int64_t now_ms);

 private:
  void Fill(int64_t now_ms);

  double rate_;
  double burst_;
  double level_;
  int64_t filled_ms_;
};

}  // namespace qb::server
