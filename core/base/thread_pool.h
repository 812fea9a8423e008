// Parallel loops over independent indices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace qb {

// The number of threads this process may use: its CPU affinity, at least 1.
int AvailableThreads();

// A fixed set of workers. Results must not depend on which worker takes which index: that is what
// keeps outputs equal for any thread count. Thread-compatible; one loop at a time.
class ThreadPool {
 public:
  // `threads` >= 1; the calling thread is one of them, so 1 starts no thread at all.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(index, worker) for index in [0, count); worker is in [0, threads). Returns when all
  // calls have returned. Indices are handed out in increasing order. No nesting.
  void ParallelFor(int64_t count, const std::function<void(int64_t index, int worker)>& body);

 private:
  struct State;
  const int threads_;
  std::unique_ptr<State> state_;
};

}  // namespace qb
