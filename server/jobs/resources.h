// What work needs and what workers have, besides a slot for each attempt.
#pragma once

#include <compare>
#include <cstdint>

namespace qb::server {

struct Resources {
  int64_t cpus = 0;
  int64_t memory_bytes = 0;
  int64_t gpus = 0;
  int64_t scratch_bytes = 0;

  auto operator<=>(const Resources&) const = default;  // NOLINT(modernize-use-nullptr): no 0 here

  Resources& operator+=(const Resources& other) {
    cpus += other.cpus;
    memory_bytes += other.memory_bytes;
    gpus += other.gpus;
    scratch_bytes += other.scratch_bytes;
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    cpus -= other.cpus;
    memory_bytes -= other.memory_bytes;
    gpus -= other.gpus;
    scratch_bytes -= other.scratch_bytes;
    return *this;
  }

  // Whether work that needs `needs` fits into this.
  bool Holds(const Resources& needs) const {
    return needs.cpus <= cpus && needs.memory_bytes <= memory_bytes && needs.gpus <= gpus &&
           needs.scratch_bytes <= scratch_bytes;
  }
};

}  // namespace qb::server
