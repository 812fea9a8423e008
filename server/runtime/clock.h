// Time, passed in so that tests own it.
#pragma once

#include <cstdint>

namespace qb::server {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back and goes on while the machine sleeps; only differences mean something. Leases
  // and waits use it.
  virtual int64_t MonotonicMs() const = 0;
  // Milliseconds since 1970, UTC. May jump. For what is shown and stored.
  virtual int64_t WallMs() const = 0;
};

class SystemClock final : public Clock {
 public:
  int64_t MonotonicMs() const override;
  int64_t WallMs() const override;
};

}  // namespace qb::server
