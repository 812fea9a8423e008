#include "server/quota/token_bucket.h"

#include <algorithm>
#include <cmath>

namespace qb::server {

TokenBucket::TokenBucket(double rate, double burst, int64_t now_ms)
    : rate_(rate), burst_(burst), level_(burst), filled_ms_(now_ms) {}

void TokenBucket::Fill(int64_t now_ms) {
  const auto passed_ms = static_cast<double>(std::max<int64_t>(0, now_ms - filled_ms_));
  level_ = std::min(burst_, level_ + rate_ * passed_ms / 1000);
  filled_ms_ = now_ms;
}

// A whole unit must be there: fractions of one do not let anything pass.
int64_t TokenBucket::WaitMs(int64_t now_ms) {
  Fill(now_ms);
  const double missing = 1 - level_;
  return missing <= 0 ? 0 : static_cast<int64_t>(std::ceil(missing * 1000 / rate_));
}

void TokenBucket::Take(double units, int64_t now_ms) {
  Fill(now_ms);
  level_ -= units;
}

void TokenBucket::SetLimits(double rate, double burst, int64_t now_ms) {
  Fill(now_ms);
  rate_ = rate;
  burst_ = burst;
  level_ = std::min(level_, burst_);
}

}  // namespace qb::server
