#include "server/runtime/ticker.h"

#include <utility>

namespace qb::server {

Ticker::Ticker(absl::Duration interval, std::function<void()> tick)
    : tick_(std::move(tick)), thread_([this, interval] { Loop(interval); }) {}

Ticker::~Ticker() { Stop(); }

void Ticker::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Ticker::Loop(absl::Duration interval) {
  while (true) {
    {
      absl::MutexLock lock(&mutex_);
      mutex_.AwaitWithTimeout(absl::Condition(&stopping_), interval);
      if (stopping_) {
        return;
      }
    }
    tick_();
  }
}

}  // namespace qb::server
