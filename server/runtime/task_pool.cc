#include "server/runtime/task_pool.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

#include "core/base/check.h"

namespace qb::server {
namespace {

constexpr int64_t kAveragedStarts = 64;
// Longer ones are a disk that stood still, not how fast the queue moves.
constexpr absl::Duration kLongestInterval = absl::Milliseconds(50);

}  // namespace

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
  if (queue_.empty()) {
    return absl::ZeroDuration();
  }
  return std::max(absl::Now() - queue_.front().since,
                  interval_ * static_cast<int64_t>(queue_.size()));
}

// A pause in which nothing waited says nothing about how fast the queue moves.
void TaskPool::NoteStart(absl::Time now) {
  if (others_waited_) {
    interval_ += (std::min(now - last_start_, kLongestInterval) - interval_) / kAveragedStarts;
  }
  last_start_ = now;
  others_waited_ = !queue_.empty();
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
      NoteStart(absl::Now());
    }
    task();
  }
}

}  // namespace qb::server
