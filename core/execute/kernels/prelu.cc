// PRelu: two slopes, the lower one a tensor that broadcasts.
#include "core/ops/prelu.h"

#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/strided_loop.h"

namespace qb::execute {
namespace {

template <typename T>
T Sloped(T x, T slope) {
  if constexpr (std::is_integral_v<T>) {
    // Wraps around as in two's complement, which signed arithmetic of C++ does not promise.
    using Bits = std::make_unsigned_t<T>;
    const bool below_zero = std::is_signed_v<T> && x < T{0};
    return below_zero ? static_cast<T>(static_cast<Bits>(x) * static_cast<Bits>(slope)) : x;
  } else {
    return x < 0 ? x * slope : x;
  }
}

template <typename T>
std::unique_ptr<Kernel> MakeLoop(const KernelRequest& request) {
  const Shape& result = request.node->shape();
  StridedLoop<2> loop = JoinLoops<2>(
      result.dims(), {BroadcastStrides(request.operand_shape(PReluOperands::kInput), result),
                      BroadcastStrides(request.operand_shape(PReluOperands::kSlope), result)});
  return MakeBodyKernel(
      [loop = std::move(loop)](const KernelArgs& args) {
        const T* x = args.operand<T>(PReluOperands::kInput);
        const T* slope = args.operand<T>(PReluOperands::kSlope);
        T* out = args.output<T>();
        const int64_t x_stride = loop.strides[0].back();
        const int64_t slope_stride = loop.strides[1].back();
        loop.ForEachRow([&](int64_t at, const std::array<int64_t, 2>& offsets) {
          const T* row = x + offsets[0];
          const T* slopes = slope + offsets[1];
          for (int64_t i = 0; i < loop.inner(); ++i) {
            out[at + i] = Sloped(row[i * x_stride], slopes[i * slope_stride]);
          }
        });
      },
      {.in_place = true});
}

}  // namespace

KernelOr MakePRelu(const KernelRequest& request) {
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    return MakeLoop<typename decltype(tag)::type>(request);
  });
}

}  // namespace qb::execute
