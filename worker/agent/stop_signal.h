// Asking a running attempt to stop, from any thread.
#pragma once

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace qb::worker {

enum class StopReason : int {
  kNone = 0,
  kCancelled = 1,  // the job was cancelled: SIGTERM, a grace, SIGKILL
  kShutdown = 2,   // the agent ends: the same, and the attempt is given back
  kAbandoned = 3,  // the attempt is no longer ours: SIGKILL at once, nothing is reported
};

// Holds the strongest reason that was given so far and wakes whoever polls fd(). Thread-safe.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  // A weaker reason than the present one only sets cancelled().
  void Request(StopReason reason) ABSL_LOCKS_EXCLUDED(mutex_);
  StopReason reason() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool requested() const { return reason() != StopReason::kNone; }
  bool abandoned() const { return reason() == StopReason::kAbandoned; }
  // True when a cancel was among the reasons.
  bool cancelled() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until the attempt is abandoned, at most `timeout`. Returns abandoned().
  bool WaitUntilAbandoned(absl::Duration timeout) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Readable after a Request until Drain.
  int fd() const { return fd_; }
  void Drain();

 private:
  mutable absl::Mutex mutex_;
  StopReason reason_ ABSL_GUARDED_BY(mutex_) = StopReason::kNone;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  int fd_ = -1;
};

}  // namespace qb::worker
