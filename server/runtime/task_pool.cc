#include "server/runtime/task_pool.h"

#include <utility>

#include "absl/time/clock.h"

#include "core/base/check.h"

namespace qb::server {

TaskPool::TaskPool(int threads, size_t max_queued) : max_queued_(max_queued) {
  QB_CHECK(threads >= 1);
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Loop(); });
  }
}

TaskPool::~TaskPool() { Shutdown(); }

void TaskPool::Shutdown() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

bool TaskPool::TrySchedule(std::function<void()> task) {
  absl::MutexLock lock(&mutex_);
  if (ending_ || queue_.size() >= max_queued_) {
    return false;
  }
  queue_.push_back({std::move(task), absl::Now()});
  return true;
}

void TaskPool::Schedule(std::function<void()> task) {
  {
    absl::MutexLock lock(&mutex_);
    if (!ending_) {
      queue_.push_back({std::move(task), absl::Now()});
      return;
    }
  }
  task();
}

absl::Duration TaskPool::Delay() const {
  absl::MutexLock lock(&mutex_);
  return queue_.empty() ? absl::ZeroDuration() : absl::Now() - queue_.front().since;
}

bool TaskPool::HasWorkOrEnds() const { return !queue_.empty() || ending_; }

void TaskPool::Loop() {
  while (true) {
    std::function<void()> task;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &TaskPool::HasWorkOrEnds));
      if (queue_.empty()) {
        return;
      }
      task = std::move(queue_.front().task);
      queue_.pop_front();
    }
    task();
  }
}

}  // namespace qb::server
