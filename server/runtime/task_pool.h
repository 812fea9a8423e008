// Threads that run closures: everything that may wait for a disk happens here, never in a gRPC
// callback.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace qb::server {

// Thread-safe.
class TaskPool {
 public:
  // `threads` >= 1. At most `max_queued` closures wait.
  TaskPool(int threads, size_t max_queued);
  // Runs what is queued, then ends the threads.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // Returns false, without keeping `task`, when the queue is full or the pool is ending.
  [[nodiscard]] bool TrySchedule(std::function<void()> task);
  // As TrySchedule, but beyond the limit too: for work that continues a call that was admitted.
  void Schedule(std::function<void()> task);

  // How long a closure that came now would wait: from the length of the queue and how fast it has
  // been moving, and at least as long as the one that is next has waited. A burst is seen at once,
  // not when its first closure has grown old. 0: none waits. Does not wait.
  absl::Duration Delay() const;

  // Waits until all that was queued has run; later closures are run by the thread that schedules
  // them.
  void Shutdown();

 private:
  void Loop();
  void NoteStart(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWorkOrEnds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Queued {
    std::function<void()> task;
    absl::Time since;
  };

  const size_t max_queued_;
  mutable absl::Mutex mutex_;
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  // From one start to the next while closures waited: a moving average.
  absl::Duration interval_ ABSL_GUARDED_BY(mutex_);
  absl::Time last_start_ ABSL_GUARDED_BY(mutex_);
  bool others_waited_ ABSL_GUARDED_BY(mutex_) = false;  // after the last start
  std::vector<std::thread> threads_;
};

}  // namespace qb::server
