// GatherElements, GatherND, ReverseSequence: elements from places that a tensor names.
#include <cstring>
#include <utility>

#include "core/base/status_macros.h"
#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/element_walk.h"
#include "core/execute/kernels/index_values.h"
#include "core/ops/indexing.h"

namespace qb::execute {
namespace {

template <typename T>
absl::Status GatherByElement(const Node& node, const KernelArgs& args) {
  const Shape& data = node.operand(0)->shape();
  const int64_t axis = node.attrs<GatherAttrs>().axis;
  const int64_t stride = data.strides()[static_cast<size_t>(axis)];
  const DType dtype = node.operand(1)->type().dtype;
  const T* from = args.operand<T>(0);
  T* to = args.output<T>();
  absl::Status status;
  WalkElements(node.shape(), data, axis, [&](int64_t at, int64_t base) {
    const absl::StatusOr<int64_t> index =
        FromFront(IndexAt(args.operands[1], dtype, at), data[axis]);
    status = index.status();
    if (status.ok()) {
      to[at] = from[base + *index * stride];
    }
    return status.ok();
  });
  return status;
}

struct GatherPlan {
  IndexTuples tuples;
  int64_t batches = 1;
  int64_t tuples_a_batch = 1;
  int64_t data_a_batch = 1;  // in elements
  int64_t slice_bytes = 0;
  int64_t element_bytes = 0;
};

GatherPlan PlanGather(const KernelRequest& request) {
  const Shape& data = request.operand_shape(0);
  const Shape& indices = request.operand_shape(1);
  const int64_t batch = request.node->attrs<GatherNDAttrs>().batch_dims;
  const std::vector<int64_t> strides = data.strides();
  GatherPlan plan;
  plan.element_bytes = SizeBytes(request.node->type().dtype);
  plan.tuples.dtype = request.operand_type(1).dtype;
  plan.tuples.depth = indices[indices.rank() - 1];
  int64_t slice = 1;
  for (int64_t d = 0; d < data.rank(); ++d) {
    if (d < batch) {
      plan.batches *= data[d];
      continue;
    }
    plan.data_a_batch *= data[d];
    if (d < batch + plan.tuples.depth) {
      plan.tuples.dims.push_back(data[d]);
      plan.tuples.strides.push_back(strides[static_cast<size_t>(d)]);
    } else {
      slice *= data[d];
    }
  }
  for (int64_t d = batch; d + 1 < indices.rank(); ++d) {
    plan.tuples_a_batch *= indices[d];
  }
  plan.slice_bytes = slice * plan.element_bytes;
  return plan;
}

template <typename T>
void ReverseRows(const Node& node, const KernelArgs& args, const std::vector<int64_t>& lengths) {
  const auto& attrs = node.attrs<ReverseSequenceAttrs>();
  const Shape& shape = node.shape();
  const int64_t stride = shape.strides()[static_cast<size_t>(attrs.time_axis)];
  const int64_t batch_stride = shape.strides()[static_cast<size_t>(attrs.batch_axis)];
  const T* from = args.operand<T>(0);
  T* to = args.output<T>();
  const int64_t count = shape.elements();
  for (int64_t at = 0; at < count; ++at) {
    const int64_t time = at / stride % shape[attrs.time_axis];
    const int64_t batch = at / batch_stride % shape[attrs.batch_axis];
    const int64_t length = lengths[static_cast<size_t>(batch)];
    to[at] = from[time < length ? at + (length - 1 - 2 * time) * stride : at];
  }
}

}  // namespace

KernelOr MakeGatherElements(const KernelRequest& request) {
  return DispatchSize(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel(
        [node = request.node](const KernelArgs& args) { return GatherByElement<T>(*node, args); });
  });
}

KernelOr MakeGatherND(const KernelRequest& request) {
  return MakeBodyKernel([plan = PlanGather(request)](const KernelArgs& args) -> absl::Status {
    const char* from = args.operand<char>(0);
    char* to = args.output<char>();
    for (int64_t at = 0; at < plan.batches * plan.tuples_a_batch; ++at) {
      QB_ASSIGN_OR_RETURN(const int64_t offset, plan.tuples.OffsetOf(args.operands[1], at));
      const int64_t base = at / plan.tuples_a_batch * plan.data_a_batch;
      std::memcpy(to, from + (base + offset) * plan.element_bytes,
                  static_cast<size_t>(plan.slice_bytes));
      to += plan.slice_bytes;
    }
    return absl::OkStatus();
  });
}

KernelOr MakeReverseSequence(const KernelRequest& request) {
  return DispatchSize(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([node = request.node](const KernelArgs& args) -> absl::Status {
      const TensorType& type = node->operand(1)->type();
      const int64_t most = node->shape()[node->attrs<ReverseSequenceAttrs>().time_axis];
      std::vector<int64_t> lengths;
      for (int64_t i = 0; i < type.shape.elements(); ++i) {
        lengths.push_back(IndexAt(args.operands[1], type.dtype, i));
        if (lengths.back() < 0 || lengths.back() > most) {
          return absl::InvalidArgumentError(
              absl::StrCat("a sequence has length ", lengths.back(), "; accepted: 0 to ", most));
        }
      }
      ReverseRows<T>(*node, args, lengths);
      return absl::OkStatus();
    });
  });
}

}  // namespace qb::execute
