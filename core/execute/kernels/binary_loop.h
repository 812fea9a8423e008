// The loop over two operands with broadcasting that arithmetic, comparison and logic share.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/execute/kernel.h"
#include "core/execute/strided_loop.h"

namespace qb::execute {

// One operand's part of an inner loop.
template <typename T>
struct StridedRow {
  const T* data;
  int64_t stride;
};

// The usual strides, 0 and 1, get loops of their own, which vectorize.
template <typename T, typename Out, typename Function>
void RunRow(StridedRow<T> a, StridedRow<T> b, Out* out, int64_t count, Function function) {
  if (a.stride == 1 && b.stride == 1) {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = function(a.data[i], b.data[i]);
    }
  } else if (a.stride == 1 && b.stride == 0) {
    const T scalar = *b.data;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = function(a.data[i], scalar);
    }
  } else if (a.stride == 0 && b.stride == 1) {
    const T scalar = *a.data;
    for (int64_t i = 0; i < count; ++i) {
      out[i] = function(scalar, b.data[i]);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      out[i] = function(a.data[i * a.stride], b.data[i * b.stride]);
    }
  }
}

inline StridedLoop<2> BroadcastLoop(const KernelRequest& request) {
  const Shape& result = request.node->shape();
  return JoinLoops<2>(result.dims(), {BroadcastStrides(request.operand_shape(0), result),
                                      BroadcastStrides(request.operand_shape(1), result)});
}

template <typename T, typename Out, typename Function>
void RunBinaryLoop(const StridedLoop<2>& loop, const KernelArgs& args, Function function) {
  const T* a = args.operand<T>(0);
  const T* b = args.operand<T>(1);
  Out* out = args.output<Out>();
  loop.ForEachRow([&](int64_t at, const std::array<int64_t, 2>& offsets) {
    RunRow<T, Out>({a + offsets[0], loop.strides[0].back()},
                   {b + offsets[1], loop.strides[1].back()}, out + at, loop.inner(), function);
  });
}

// Out(T, T) over the broadcast operands 0 and 1.
template <typename T, typename Out, typename Function>
std::unique_ptr<Kernel> MakeBinaryLoop(const KernelRequest& request, Function function) {
  return MakeBodyKernel(
      [loop = BroadcastLoop(request), function](const KernelArgs& args) {
        RunBinaryLoop<T, Out>(loop, args, function);
      },
      {.in_place = sizeof(T) == sizeof(Out)});
}

}  // namespace qb::execute
