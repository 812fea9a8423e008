// ScatterElements, ScatterND: a copy of the data with updates at places that a tensor names.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "core/base/status_macros.h"
#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/element_walk.h"
#include "core/execute/kernels/index_values.h"
#include "core/execute/kernels/row_reduction.h"
#include "core/ops/indexing.h"

namespace qb::execute {
namespace {

template <typename T>
T Combined(T old, T update, ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::kAdd:
      return Sum<T>()(old, update);
    case ScatterReduction::kMul:
      return Product<T>()(old, update);
    case ScatterReduction::kMax:
      return std::max(old, update);
    case ScatterReduction::kMin:
      return std::min(old, update);
    case ScatterReduction::kNone:
      break;
  }
  return update;
}

template <typename T>
void CopyData(const Node& node, const KernelArgs& args) {
  if (args.operands[0] != args.result) {
    std::memcpy(args.result, args.operands[0],
                static_cast<size_t>(node.shape().elements()) * sizeof(T));
  }
}

template <typename T>
absl::Status ScatterByElement(const Node& node, const KernelArgs& args) {
  const auto& attrs = node.attrs<ScatterElementsAttrs>();
  CopyData<T>(node, args);
  const Shape& data = node.shape();
  const int64_t stride = data.strides()[static_cast<size_t>(attrs.axis)];
  const TensorType& indices = node.operand(1)->type();
  const T* updates = args.operand<T>(2);
  T* to = args.output<T>();
  absl::Status status;
  WalkElements(indices.shape, data, attrs.axis, [&](int64_t at, int64_t base) {
    const absl::StatusOr<int64_t> index =
        FromFront(IndexAt(args.operands[1], indices.dtype, at), data[attrs.axis]);
    status = index.status();
    if (status.ok()) {
      T& target = to[base + *index * stride];
      target = Combined(target, updates[at], attrs.reduction);
    }
    return status.ok();
  });
  return status;
}

template <typename T>
absl::Status ScatterSlices(const Node& node, const KernelArgs& args) {
  const ScatterReduction reduction = node.attrs<ScatterNDAttrs>().reduction;
  CopyData<T>(node, args);
  const Shape& data = node.shape();
  const TensorType& indices = node.operand(1)->type();
  IndexTuples tuples;
  tuples.dtype = indices.dtype;
  tuples.depth = indices.shape[indices.shape.rank() - 1];
  tuples.dims = data.dims();
  tuples.strides = data.strides();
  const int64_t slice = tuples.strides[static_cast<size_t>(tuples.depth - 1)];
  const int64_t count = indices.shape.elements() / tuples.depth;
  const T* update = args.operand<T>(2);
  for (int64_t at = 0; at < count; ++at) {
    QB_ASSIGN_OR_RETURN(const int64_t offset, tuples.OffsetOf(args.operands[1], at));
    T* to = args.output<T>() + offset;
    for (int64_t i = 0; i < slice; ++i, ++update) {
      to[i] = Combined(to[i], *update, reduction);
    }
  }
  return absl::OkStatus();
}

// Plain replacement moves any type; the other reductions compute.
template <typename Make>
KernelOr MakeScatter(const KernelRequest& request, ScatterReduction reduction, Make make) {
  const DType dtype = request.node->type().dtype;
  return reduction == ScatterReduction::kNone ? DispatchSize(dtype, make)
                                              : DispatchArithmetic(dtype, make);
}

}  // namespace

KernelOr MakeScatterElements(const KernelRequest& request) {
  const auto reduction = request.node->attrs<ScatterElementsAttrs>().reduction;
  return MakeScatter(request, reduction, [&](auto tag) -> KernelOr {
    return MakeBodyKernel([node = request.node](const KernelArgs& args) {
      return ScatterByElement<typename decltype(tag)::type>(*node, args);
    });
  });
}

KernelOr MakeScatterND(const KernelRequest& request) {
  const auto reduction = request.node->attrs<ScatterNDAttrs>().reduction;
  return MakeScatter(request, reduction, [&](auto tag) -> KernelOr {
    return MakeBodyKernel([node = request.node](const KernelArgs& args) {
      return ScatterSlices<typename decltype(tag)::type>(*node, args);
    });
  });
}

}  // namespace qb::execute
