// A user's wish to stop (Ctrl-C), made visible to blocking calls and to waits between retries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace qb::client {

// Thread-safe. Raised by a thread (never inside a signal handler), seen by all others.
class Interruption {
 public:
  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Counts one more wish and runs the callbacks that are registered now.
  void Raise();
  int count() const;
  bool raised() const { return count() > 0; }

  // Waits until `count()` is at least `wanted` or `duration` has passed; true for the former.
  bool WaitForCount(int wanted, absl::Duration duration) const;

  // Runs `callback` on Raise() while the object lives, and at once when it was raised before. The
  // callback runs under a lock: it must be quick and must not use the Interruption.
  class Callback {
   public:
    // A null `interruption` is allowed and registers nothing.
    Callback(Interruption* interruption, std::function<void()> callback);
    ~Callback();
    Callback(const Callback&) = delete;
    Callback& operator=(const Callback&) = delete;

   private:
    Interruption* interruption_;
    int64_t id_ = 0;
  };

 private:
  mutable absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t next_id_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<int64_t, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::client
