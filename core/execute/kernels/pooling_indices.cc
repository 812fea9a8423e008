// PoolingIndices: where the largest element of each window lies in the operand.
#include <limits>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/ops/sampling.h"

namespace qb::execute {
namespace {

template <typename T>
struct Plane {
  const T* values;
  int64_t rows, columns;
};

// The place of the first largest element of the window of one result.
template <typename T>
int64_t LargestIn(const PoolingAttrs& attrs, const Plane<T>& plane, int64_t row, int64_t column) {
  int64_t best = -1;
  for (int64_t kh = 0; kh < attrs.h_kernel; ++kh) {
    const int64_t h = row * attrs.h_stride + kh * attrs.h_dilation - attrs.north_padding;
    for (int64_t kw = 0; kw < attrs.w_kernel; ++kw) {
      const int64_t w = column * attrs.w_stride + kw * attrs.w_dilation - attrs.west_padding;
      if (h < 0 || h >= plane.rows || w < 0 || w >= plane.columns) {
        continue;
      }
      const int64_t at = h * plane.columns + w;
      best = best < 0 || plane.values[at] > plane.values[best] ? at : best;
    }
  }
  return best;
}

}  // namespace

KernelOr MakePoolingIndices(const KernelRequest& request) {
  const PoolingAttrs attrs = request.node->attrs<PoolingAttrs>();
  const Shape from = request.operand_shape(0);
  const Shape to = request.node->shape();
  return DispatchArithmetic(request.operand_type(0).dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      int64_t* out = args.output<int64_t>();
      for (int64_t index = 0; index < to[0] * to[1]; ++index) {
        const int64_t base = index * from[2] * from[3];
        const Plane<T> plane = {args.operand<T>(0) + base, from[2], from[3]};
        for (int64_t row = 0; row < to[2]; ++row) {
          for (int64_t column = 0; column < to[3]; ++column) {
            *out++ = base + LargestIn(attrs, plane, row, column);
          }
        }
      }
    });
  });
}

}  // namespace qb::execute
