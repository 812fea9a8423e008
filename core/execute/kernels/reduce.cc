// ReduceMean, ReduceSum, ReduceMax, ReduceMin, ReduceProd.
#include "core/ops/reduce.h"

#include <algorithm>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/row_reduction.h"
#include "core/execute/strided_loop.h"

namespace qb::execute {
namespace {

// Strides of the result under the operand's shape: 0 along reduced axes.
std::vector<int64_t> ResultStrides(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 0);
  int64_t stride = 1;
  for (int64_t d = shape.rank(); d-- > 0;) {
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      strides[static_cast<size_t>(d)] = stride;
      stride *= shape[d];
    }
  }
  return strides;
}

template <typename T, typename Op>
KernelOr MakeLoop(const KernelRequest& request, Op op, bool mean) {
  const Shape& shape = request.operand_shape(0);
  const int64_t results = request.node->shape().elements();
  const int64_t elements = shape.elements();
  const T divisor = mean ? static_cast<T>(std::max<int64_t>(elements / results, 1)) : T{1};
  if (elements == 0) {
    return MakeBodyKernel(
        [results](const KernelArgs& args) { std::fill_n(args.output<T>(), results, Op::kStart); });
  }
  StridedLoop<2> loop = JoinLoops<2>(
      shape.dims(),
      {shape.strides(), ResultStrides(shape, request.node->attrs<ReduceAttrs>().reduce_axes)});
  return MakeBodyKernel([loop = std::move(loop), op, results, divisor](const KernelArgs& args) {
    T* out = args.output<T>();
    std::fill_n(out, results, Op::kStart);
    const T* x = args.operand<T>(0);
    const bool row_is_kept = loop.strides[1].back() != 0;
    loop.ForEachRow([&](int64_t /*at*/, const std::array<int64_t, 2>& offsets) {
      const T* row = x + offsets[0];
      T* target = out + offsets[1];
      if (row_is_kept) {
        for (int64_t i = 0; i < loop.inner(); ++i) {
          target[i] = op(target[i], row[i]);
        }
      } else {
        *target = op(*target, CombineRow(row, loop.inner(), op));
      }
    });
    if (divisor != T{1}) {
      for (int64_t i = 0; i < results; ++i) {
        out[i] /= divisor;
      }
    }
  });
}

}  // namespace

KernelOr MakeReduce(const KernelRequest& request) {
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    switch (request.node->op()) {
      case OpKind::kReduceMean:
        return MakeLoop<T>(request, Sum<T>(), /*mean=*/true);
      case OpKind::kReduceSum:
        return MakeLoop<T>(request, Sum<T>(), /*mean=*/false);
      case OpKind::kReduceMax:
        return MakeLoop<T>(request, Largest<T>(), /*mean=*/false);
      case OpKind::kReduceProd:
        return MakeLoop<T>(request, Product<T>(), /*mean=*/false);
      default:
        QB_CHECK(request.node->op() == OpKind::kReduceMin);
        return MakeLoop<T>(request, Smallest<T>(), /*mean=*/false);
    }
  });
}

}  // namespace qb::execute
