#include "client/cpp/retry.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/time/clock.h"

#include "proto/google/rpc/error_details.pb.h"

namespace qb::client {

namespace {

// What the server asks for; nothing when it does not.
std::optional<absl::Duration> AskedDelay(const absl::Status& status) {
  google::rpc::RetryInfo info;
  const auto payload = status.GetPayload("type.googleapis.com/google.rpc.RetryInfo");
  if (!payload.has_value() || !info.ParseFromString(std::string(*payload))) {
    return std::nullopt;
  }
  return absl::Seconds(info.retry_delay().seconds()) +
         absl::Nanoseconds(info.retry_delay().nanos());
}

}  // namespace

bool IsTransient(const absl::Status& status) {
  return status.code() == absl::StatusCode::kUnavailable ||
         status.code() == absl::StatusCode::kAborted ||
         (status.code() == absl::StatusCode::kResourceExhausted && AskedDelay(status).has_value());
}

bool IsDraining(const absl::Status& status) {
  return absl::StartsWith(status.message(), "SERVER_DRAINING");
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
  const absl::Duration asked = AskedDelay(why).value_or(absl::ZeroDuration());
  if (why.code() == absl::StatusCode::kResourceExhausted && now + asked > give_up_) {
    return why;
  }
  const absl::Duration wait = std::min(std::max(delay_, asked) * (1.0 + jitter), give_up_ - now);
  delay_ = std::min(delay_ * 2, policy_.longest_delay);
  if (listener_ && !IsDraining(why)) {
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
