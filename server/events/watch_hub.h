// Wakes the streams that watch a job when the job has new events. No events pass through here: a
// stream reads them from the store at its own pace, so a slow reader costs no memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "server/runtime/clock.h"

namespace qb::server {

// Thread-safe.
class WatchHub {
 public:
  // Must not wait, may be called by any thread and a last time after Unsubscribe has returned.
  using Wake = std::function<void()>;

  // A stream that was not woken for `idle_ms` is woken by Tick, to send a sign of life.
  WatchHub(const Clock& clock, int64_t idle_ms) : clock_(clock), idle_ms_(idle_ms) {}

  // Stands for every job: woken by NotifyJobs.
  static constexpr int64_t kAllJobs = 0;

  // Returns a ticket for Unsubscribe.
  int64_t Subscribe(int64_t execution, Wake wake);
  void Unsubscribe(int64_t ticket);

  // These executions have new events.
  void Notify(absl::Span<const int64_t> executions);
  // The state of some job changed.
  void NotifyJobs() { Notify({kAllJobs}); }
  void Tick();
  // The server ends: wakes everybody now and from now on at once; see closing().
  void Close();
  bool closing() const;

 private:
  struct Subscription {
    int64_t execution;
    Wake wake;
    int64_t woken_ms;
  };

  const Clock& clock_;
  const int64_t idle_ms_;
  mutable absl::Mutex mutex_;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<int64_t, Subscription> subscriptions_ ABSL_GUARDED_BY(mutex_);
  // execution -> tickets
  absl::flat_hash_map<int64_t, std::set<int64_t>> by_execution_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server
