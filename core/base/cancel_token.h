// Cooperative cancellation. The owner (a signal handler, an RPC) raises the flag; loops poll it.
#pragma once

#include <atomic>

#include "absl/status/status.h"

namespace qb {

// Thread-safe and async-signal-safe. Not copyable: pass by reference.
class CancelToken {
 public:
  CancelToken() = default;
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  // CANCELLED (absl::CancelledError) once Cancel was called, else OK.
  absl::Status Check() const {
    return cancelled() ? absl::CancelledError("cancelled by the caller") : absl::OkStatus();
  }

 private:
  std::atomic<bool> cancelled_{false};
};

}  // namespace qb
