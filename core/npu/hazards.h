// Which earlier parts a part must wait for, by the bytes that they touch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "core/integer/network.h"
#include "core/npu/cut.h"

namespace qb::npu {

inline constexpr int kMostCores = 8;

// By core: how many of its parts are known to be done.
using Clock = std::array<int32_t, kMostCores>;

// Bytes that a part touches in the arena.
struct Access {
  int layer = 0;
  int core = 0;
  int32_t done = 0;  // the part's core has done so many parts when it has ended
  bool write = false;
  ByteRuns bytes;
};

// Walks the parts in the order of the layers.
class Hazards {
 public:
  // The accesses of earlier layers that conflict with `access`, as the clock that it needs; where
  // `culprit` is not null, it gets for each core the layer that asks for it.
  Clock Needed(const Access& access, std::array<int, kMostCores>* culprit);
  void Add(const Access& access) { pending_.push_back(access); }
  // The layer's accesses are all added; `output` is the memory that it has written. Accesses that lie
  // in it need not be kept: who touches these bytes later waits for the layer, which waited for them.
  void EndLayer(const ByteRuns& output);
  // Grows with the comparisons: a bound for programs from outside.
  int64_t work() const { return work_; }

 private:
  std::vector<Access> live_;
  std::vector<Access> pending_;
  int64_t work_ = 0;
};

// What a part of the layer touches: operands of the arena, then the result. `done` as in Access.
std::vector<Access> AccessesOf(const integer::Layer& layer, const std::vector<int64_t>& addresses,
                               const PartLayer& part, Access access);

}  // namespace qb::npu
