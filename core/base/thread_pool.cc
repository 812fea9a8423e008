#include "core/base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/check.h"

namespace qb {

int AvailableThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) {
    return 1;
  }
  return std::max(1, CPU_COUNT(&set));
}

struct ThreadPool::State {
  absl::Mutex mutex;
  const std::function<void(int64_t, int)>* body ABSL_GUARDED_BY(mutex) = nullptr;
  int64_t count ABSL_GUARDED_BY(mutex) = 0;
  int64_t generation ABSL_GUARDED_BY(mutex) = 0;
  int running ABSL_GUARDED_BY(mutex) = 0;
  bool stop ABSL_GUARDED_BY(mutex) = false;
  std::atomic<int64_t> next{0};
  std::vector<std::thread> workers;

  void Drain(const std::function<void(int64_t, int)>& loop_body, int64_t loop_count, int worker) {
    while (true) {
      const int64_t index = next.fetch_add(1);
      if (index >= loop_count) {
        return;
      }
      loop_body(index, worker);
    }
  }

  void Work(int worker) {
    int64_t seen = 0;
    while (true) {
      const std::function<void(int64_t, int)>* current = nullptr;
      int64_t current_count = 0;
      {
        absl::MutexLock lock(&mutex);
        auto ready = [this, seen]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
          return stop || generation != seen;
        };
        mutex.Await(absl::Condition(&ready));
        if (stop) {
          return;
        }
        seen = generation;
        current = body;
        current_count = count;
      }
      Drain(*current, current_count, worker);
      absl::MutexLock lock(&mutex);
      --running;
    }
  }
};

ThreadPool::ThreadPool(int threads) : threads_(threads), state_(std::make_unique<State>()) {
  QB_CHECK(threads >= 1);
  for (int worker = 1; worker < threads; ++worker) {
    state_->workers.emplace_back([this, worker] { state_->Work(worker); });
  }
}

ThreadPool::~ThreadPool() {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->stop = true;
  }
  for (std::thread& worker : state_->workers) {
    worker.join();
  }
}

void ThreadPool::ParallelFor(int64_t count,
                             const std::function<void(int64_t index, int worker)>& body) {
  if (threads_ == 1 || count <= 1) {
    for (int64_t index = 0; index < count; ++index) {
      body(index, 0);
    }
    return;
  }
  {
    absl::MutexLock lock(&state_->mutex);
    state_->body = &body;
    state_->count = count;
    state_->next.store(0);
    state_->running = threads_ - 1;
    ++state_->generation;
  }
  state_->Drain(body, count, 0);
  absl::MutexLock lock(&state_->mutex);
  auto done = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    return state_->running == 0;
  };
  state_->mutex.Await(absl::Condition(&done));
}

}  // namespace qb
