// Ctrl-C and SIGTERM become an Interruption.
#pragma once

#include <thread>

#include "client/cpp/interruption.h"

namespace qb::client {

// While it lives, SIGINT and SIGTERM raise the interruption; the third ends the process with 130 at
// once. Construct it before any other thread is started: threads inherit the blocked signals.
class InterruptSignals {
 public:
  explicit InterruptSignals(Interruption* interruption);
  ~InterruptSignals();
  InterruptSignals(const InterruptSignals&) = delete;
  InterruptSignals& operator=(const InterruptSignals&) = delete;

  // For a process that is about to be replaced by another program.
  static void Unblock();

 private:
  std::thread thread_;
};

}  // namespace qb::client
