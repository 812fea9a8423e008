// When a failed call is tried again, and how long to wait before.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "client/cpp/interruption.h"

namespace qb::client {

// Is this the kind of failure that passes by itself: the server away, restarting or draining, or
// refusing for the moment (ResourceExhausted that says when to come back)?
bool IsTransient(const absl::Status& status);

// The server ends in order and another process of it takes over: nobody needs to hear of that.
bool IsDraining(const absl::Status& status);

struct RetryPolicy {
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration longest_delay = absl::Seconds(3);
  // Trying ends when this much time has passed since the first failure.
  absl::Duration budget = absl::Seconds(10);
};

// Called before each wait with what failed and how long the wait is; not for a server that drains.
using RetryListener = std::function<void(const absl::Status& why, absl::Duration delay)>;

// The waits of one operation: doubling, with up to a quarter of jitter. One thread.
class Backoff {
 public:
  // `interruption` may be null.
  Backoff(const RetryPolicy& policy, Interruption* interruption, RetryListener listener = {});

  // Waits, at least as long as the server asks for. OK: try again. Otherwise `why` itself (not
  // transient, or the budget is spent or does not reach to the time that the server named), or
  // Cancelled when the user interrupts.
  absl::Status WaitAfter(const absl::Status& why);

  // Something succeeded: the next failure starts a new budget.
  void Reset();

 private:
  const RetryPolicy policy_;
  Interruption* const interruption_;
  const RetryListener listener_;
  absl::Duration delay_;
  absl::Time give_up_ = absl::InfinitePast();  // InfinitePast: no failure yet
  uint64_t jitter_state_;
};

// Sleeps `duration`; Cancelled when the user interrupts (before or meanwhile). `interruption` may
// be null.
absl::Status InterruptibleSleep(absl::Duration duration, Interruption* interruption);

}  // namespace qb::client
