#include "server/runtime/clock.h"

#include <time.h>

namespace qb::server {
namespace {

int64_t ReadMs(clockid_t id) {
  timespec now = {};
  clock_gettime(id, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

int64_t SystemClock::MonotonicMs() const { return ReadMs(CLOCK_BOOTTIME); }

int64_t SystemClock::WallMs() const { return ReadMs(CLOCK_REALTIME); }

}  // namespace qb::server
