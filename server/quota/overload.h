// Refuses new work while the server is behind with what it has.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace qb::server {

struct OverloadOptions {
  // New jobs are refused while a call would wait longer than this for a thread and for its commit.
  // Smaller: refused sooner, answers of accepted calls come faster. Default 500 ms.
  absl::Duration max_delay = absl::Milliseconds(500);
};

// Thread-safe. Does not wait: it is asked on gRPC's own threads, so that a refusal costs nothing of
// what there is too little of.
class OverloadGuard {
 public:
  // How long what comes to some queue would wait; any thread, must not wait.
  using Delay = std::function<absl::Duration()>;

  OverloadGuard(OverloadOptions options, std::vector<Delay> queues)
      : options_(options), queues_(std::move(queues)) {}

  // `left`: until the caller's deadline. Errors: Unavailable "OVERLOADED" with a RetryInfo when the
  // delay is over the limit, or when the deadline would pass before the call's turn comes.
  absl::Status Check(absl::Duration left);

 private:
  const OverloadOptions options_;
  const std::vector<Delay> queues_;
  absl::Mutex mutex_;
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server
