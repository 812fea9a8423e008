// A thread that calls a function at a steady pace: the only source of timeouts in the server.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace qb::server {

// Owner: the thread that creates it. `tick` runs on the ticker's own thread, one call at a time.
class Ticker {
 public:
  Ticker(absl::Duration interval, std::function<void()> tick);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

  // Returns after the last call of `tick`. Idempotent.
  void Stop();

 private:
  void Loop(absl::Duration interval);

  std::function<void()> tick_;
  absl::Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace qb::server
