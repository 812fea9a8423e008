#include "worker/agent/worker_stub.h"

#include <utility>

#include "absl/strings/match.h"

namespace qb::worker {

void CallHandle::Cancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (cancel_ != nullptr) {
    // Under the lock, so that End cannot return before the callback has.
    cancel_();
    cancel_ = nullptr;
  }
}

void CallHandle::Reset() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = false;
}

void CallHandle::Begin(std::function<void()> cancel) {
  absl::MutexLock lock(&mutex_);
  if (cancelled_) {
    cancel();
    return;
  }
  cancel_ = std::move(cancel);
}

void CallHandle::End() {
  absl::MutexLock lock(&mutex_);
  cancel_ = nullptr;
}

bool IsTransient(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:  // by the transport or a server that ends
      return true;
    default:
      return false;
  }
}

bool IsStaleAttempt(const absl::Status& status) {
  return (absl::IsFailedPrecondition(status) &&
          absl::StartsWith(status.message(), "STALE_ATTEMPT")) ||
         absl::IsNotFound(status);
}

}  // namespace qb::worker
