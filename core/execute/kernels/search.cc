// ArgMax, ArgMin, TopK, CumSum: along one axis.
#include "core/ops/search.h"

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/row_reduction.h"

namespace qb::execute {
namespace {

// Calls row(offset of the operand's first element, offset of the result's first element).
template <typename Row>
void ForEachLine(const AxisView& view, int64_t result_axis, Row&& row) {
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t i = 0; i < view.inner; ++i) {
      row(o * view.axis * view.inner + i, o * result_axis * view.inner + i);
    }
  }
}

template <typename T>
void FindExtremes(const AxisView& view, bool largest, bool last, const T* x, int64_t* out) {
  ForEachLine(view, 1, [&](int64_t from, int64_t to) {
    int64_t best = 0;
    T extreme = x[from];
    for (int64_t k = 1; k < view.axis; ++k) {
      const T value = x[from + k * view.inner];
      const bool better = largest ? value > extreme : value < extreme;
      if (better || (last && value == extreme) || (extreme != extreme && value == value)) {
        best = k;
        extreme = value;
      }
    }
    out[to] = best;
  });
}

// Strictly before in the order of TopK: by value, then by index; NaN comes last.
template <typename T>
bool ComesBefore(T a, T b, int64_t a_index, int64_t b_index, bool largest) {
  if (a != a || b != b) {
    return a == a || (b != b && a_index < b_index);
  }
  if (a != b) {
    return largest ? a > b : a < b;
  }
  return a_index < b_index;
}

template <typename T, typename Write>
void SelectTop(const AxisView& view, const TopKAttrs& attrs, const T* x, Write&& write) {
  std::vector<int64_t> order(static_cast<size_t>(view.axis));
  ForEachLine(view, attrs.k, [&](int64_t from, int64_t to) {
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + attrs.k, order.end(),
                      [&](int64_t a, int64_t b) {
                        return ComesBefore(x[from + a * view.inner], x[from + b * view.inner], a, b,
                                           attrs.largest);
                      });
    for (int64_t k = 0; k < attrs.k; ++k) {
      write(to + k * view.inner, from, order[static_cast<size_t>(k)]);
    }
  });
}

template <typename T>
void RunningSums(const AxisView& view, const CumSumAttrs& attrs, const T* x, T* out) {
  ForEachLine(view, view.axis, [&](int64_t from, int64_t to) {
    T sum{};
    for (int64_t k = 0; k < view.axis; ++k) {
      const int64_t at = (attrs.reverse ? view.axis - 1 - k : k) * view.inner;
      const T next = Sum<T>()(sum, x[from + at]);
      out[to + at] = attrs.exclusive ? sum : next;
      sum = next;
    }
  });
}

}  // namespace

KernelOr MakeArg(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<ArgAttrs>();
  const AxisView view = ViewAlong(request.operand_shape(0), attrs.axis);
  const bool largest = request.node->op() == OpKind::kArgMax;
  const bool last = attrs.select_last;
  return DispatchArithmetic(request.operand_type(0).dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      FindExtremes(view, largest, last, args.operand<T>(0), args.output<int64_t>());
    });
  });
}

KernelOr MakeTopK(const KernelRequest& request) {
  const TopKAttrs attrs = request.node->attrs<TopKAttrs>();
  const AxisView view = ViewAlong(request.operand_shape(0), attrs.axis);
  const bool indices = request.node->op() == OpKind::kTopKIndices;
  return DispatchArithmetic(request.operand_type(0).dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      const T* x = args.operand<T>(0);
      if (indices) {
        int64_t* out = args.output<int64_t>();
        SelectTop(view, attrs, x,
                  [out](int64_t at, int64_t /*from*/, int64_t index) { out[at] = index; });
        return;
      }
      T* out = args.output<T>();
      SelectTop(view, attrs, x, [&](int64_t at, int64_t from, int64_t index) {
        out[at] = x[from + index * view.inner];
      });
    });
  });
}

KernelOr MakeCumSum(const KernelRequest& request) {
  const CumSumAttrs attrs = request.node->attrs<CumSumAttrs>();
  const AxisView view = ViewAlong(request.operand_shape(0), attrs.axis);
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([=](const KernelArgs& args) {
      RunningSums(view, attrs, args.operand<T>(0), args.output<T>());
    });
  });
}

}  // namespace qb::execute
