// Working memory of the kernels, kept between calls.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "core/base/check.h"

namespace qb::integer {

// A few buffers that only grow. One thread at a time.
class Scratch {
 public:
  static constexpr int kSlots = 4;

  // At least `bytes` bytes plus 64 that may be read beyond them, 64-byte aligned. The contents are
  // whatever the last user left, and the slot's previous pointer is dead.
  void* Reserve(int slot, int64_t bytes) {
    Buffer& buffer = buffers_[static_cast<size_t>(slot)];
    if (buffer.bytes < bytes) {
      const int64_t size = (bytes + 127) / 64 * 64;
      buffer.memory.reset(std::aligned_alloc(64, static_cast<size_t>(size)));
      QB_CHECK_MSG(buffer.memory != nullptr, "out of memory: ", size, " bytes");
      buffer.bytes = bytes;
    }
    return buffer.memory.get();
  }
  template <typename T>
  T* ReserveArray(int slot, int64_t elements) {
    return static_cast<T*>(Reserve(slot, elements * static_cast<int64_t>(sizeof(T))));
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Buffer {
    std::unique_ptr<void, Free> memory;
    int64_t bytes = 0;
  };
  std::array<Buffer, kSlots> buffers_;
};

}  // namespace qb::integer
