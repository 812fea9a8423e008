// A clock that a test moves by hand.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/runtime/clock.h"

namespace qb::server::testing {

// Thread-safe. Starts at monotonic 1000 ms and at 2023-11-14T22:13:20Z.
class FakeClock final : public Clock {
 public:
  int64_t MonotonicMs() const override { return monotonic_ms_.load(); }
  int64_t WallMs() const override { return wall_ms_.load(); }

  void AdvanceMs(int64_t ms) {
    monotonic_ms_ += ms;
    wall_ms_ += ms;
  }
  // What NTP does.
  void JumpWallMs(int64_t ms) { wall_ms_ += ms; }

 private:
  std::atomic<int64_t> monotonic_ms_{1000};
  std::atomic<int64_t> wall_ms_{1'700'000'000'000};
};

}  // namespace qb::server::testing
