#include "worker/agent/stop_signal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/check.h"

namespace qb::worker {

StopSignal::StopSignal() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  QB_CHECK_MSG(fd_ >= 0, "no file descriptor left for an eventfd");
}

StopSignal::~StopSignal() { ::close(fd_); }

void StopSignal::Request(StopReason reason) {
  absl::MutexLock lock(&mutex_);
  cancelled_ = cancelled_ || reason == StopReason::kCancelled;
  if (static_cast<int>(reason) <= static_cast<int>(reason_)) {
    return;
  }
  reason_ = reason;
  const uint64_t one = 1;
  // Cannot block: the counter never comes near its limit.
  QB_CHECK(::write(fd_, &one, sizeof(one)) == sizeof(one));
}

StopReason StopSignal::reason() const {
  absl::MutexLock lock(&mutex_);
  return reason_;
}

bool StopSignal::cancelled() const {
  absl::MutexLock lock(&mutex_);
  return cancelled_;
}

bool StopSignal::WaitUntilAbandoned(absl::Duration timeout) const {
  const auto is_abandoned = [](const StopReason* reason) {
    return *reason == StopReason::kAbandoned;
  };
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(+is_abandoned, &reason_), timeout);
}

void StopSignal::Drain() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_, &count, sizeof(count));
}

}  // namespace qb::worker
