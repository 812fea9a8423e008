#include "client/cpp/retry.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace qb::client {

bool IsTransient(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kAborted;
}

Backoff::Backoff(const RetryPolicy& policy, Interruption* interruption, RetryListener listener)
    : policy_(policy),
      interruption_(interruption),
      listener_(std::move(listener)),
      delay_(policy.first_delay),
      jitter_state_(static_cast<uint64_t>(absl::GetCurrentTimeNanos()) | 1) {}

void Backoff::Reset() {
  delay_ = policy_.first_delay;
  give_up_ = absl::InfinitePast();
}

absl::Status Backoff::WaitAfter(const absl::Status& why) {
  if (interruption_ != nullptr && interruption_->raised()) {
    return absl::CancelledError("interrupted");
  }
  const absl::Time now = absl::Now();
  if (give_up_ == absl::InfinitePast()) {
    give_up_ = now + policy_.budget;
  }
  if (!IsTransient(why) || now >= give_up_) {
    return why;
  }
  jitter_state_ ^= jitter_state_ << 13;  // xorshift64: clients that failed together spread out
  jitter_state_ ^= jitter_state_ >> 7;
  jitter_state_ ^= jitter_state_ << 17;
  const double jitter = static_cast<double>(jitter_state_ % 1024) / 4096.0;
  const absl::Duration wait = std::min(delay_ * (1.0 + jitter), give_up_ - now);
  delay_ = std::min(delay_ * 2, policy_.longest_delay);
  if (listener_) {
    listener_(why, wait);
  }
  return InterruptibleSleep(wait, interruption_);
}

absl::Status InterruptibleSleep(absl::Duration duration, Interruption* interruption) {
  if (interruption == nullptr) {
    absl::SleepFor(duration);
    return absl::OkStatus();
  }
  if (interruption->WaitForCount(1, duration)) {
    return absl::CancelledError("interrupted");
  }
  return absl::OkStatus();
}

}  // namespace qb::client
