// Concatenate, Slice, Expand, Gather: copies of rows.
#include <cstring>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/axis_view.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/strided_loop.h"
#include "core/ops/movement.h"

namespace qb::execute {
namespace {

// Copies elements of operand 0 along a strided walk that starts at element `base`.
template <typename T>
KernelOr MakeWalk(StridedLoop<1> loop, int64_t base) {
  return MakeBodyKernel([loop = std::move(loop), base](const KernelArgs& args) {
    const T* from = args.operand<T>(0) + base;
    T* to = args.output<T>();
    const int64_t stride = loop.strides[0].back();
    const int64_t count = loop.inner();
    loop.ForEachRow([&](int64_t at, const std::array<int64_t, 1>& offsets) {
      const T* row = from + offsets[0];
      if (stride == 1) {
        std::memcpy(to + at, row, static_cast<size_t>(count) * sizeof(T));
        return;
      }
      for (int64_t i = 0; i < count; ++i) {
        to[at + i] = row[i * stride];
      }
    });
  });
}

struct CopiedPart {
  size_t operand;
  int64_t row_bytes;
};

// Errors: InvalidArgument for an index outside [-dimension, dimension).
template <typename Index>
absl::Status CheckIndices(const Index* indices, int64_t count, int64_t dimension) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t index = static_cast<int64_t>(indices[i]);
    if (index < -dimension || index >= dimension) {
      return absl::InvalidArgumentError(
          absl::StrCat("index ", index, " is outside [", -dimension, ", ", dimension, ")"));
    }
  }
  return absl::OkStatus();
}

// `inner` elements for each index; T stands for any type of its size.
template <typename T, typename Index>
void GatherRows(const AxisView& data, const Index* indices, int64_t count, const T* from, T* to) {
  for (int64_t o = 0; o < data.outer; ++o, from += data.axis * data.inner) {
    for (int64_t i = 0; i < count; ++i, to += data.inner) {
      const int64_t index = static_cast<int64_t>(indices[i]);
      const T* row = from + (index < 0 ? index + data.axis : index) * data.inner;
      if (data.inner == 1) {
        *to = *row;
      } else {
        std::memcpy(to, row, static_cast<size_t>(data.inner) * sizeof(T));
      }
    }
  }
}

template <typename Index>
KernelOr MakeGatherBy(const KernelRequest& request) {
  const AxisView data =
      ViewAlong(request.operand_shape(0), request.node->attrs<GatherAttrs>().axis);
  const int64_t count = request.operand_shape(1).elements();
  return DispatchSize(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([data, count](const KernelArgs& args) -> absl::Status {
      const Index* indices = args.operand<Index>(1);
      if (absl::Status status = CheckIndices(indices, count, data.axis); !status.ok()) {
        return status;
      }
      GatherRows(data, indices, count, args.operand<T>(0), args.output<T>());
      return absl::OkStatus();
    });
  });
}

}  // namespace

KernelOr MakeConcatenate(const KernelRequest& request) {
  const int64_t axis = request.node->attrs<ConcatenateAttrs>().axis;
  const int64_t element_bytes = SizeBytes(request.node->type().dtype);
  std::vector<CopiedPart> parts;
  for (int64_t i = 0; i < request.node->operand_count(); ++i) {
    const AxisView view = ViewAlong(request.operand_shape(i), axis);
    if (view.axis > 0) {
      parts.push_back({static_cast<size_t>(i), view.axis * view.inner * element_bytes});
    }
  }
  const int64_t outer = ViewAlong(request.node->shape(), axis).outer;
  return MakeBodyKernel([parts = std::move(parts), outer](const KernelArgs& args) {
    char* to = args.output<char>();
    for (int64_t o = 0; o < outer; ++o) {
      for (const CopiedPart& part : parts) {
        const char* from = static_cast<const char*>(args.operands[part.operand]);
        std::memcpy(to, from + o * part.row_bytes, static_cast<size_t>(part.row_bytes));
        to += part.row_bytes;
      }
    }
  });
}

KernelOr MakeSlice(const KernelRequest& request) {
  const auto& attrs = request.node->attrs<SliceAttrs>();
  std::vector<int64_t> strides = request.operand_shape(0).strides();
  int64_t base = 0;
  for (size_t i = 0; i < attrs.axis.size(); ++i) {
    const size_t axis = static_cast<size_t>(attrs.axis[i]);
    base += attrs.start[i] * strides[axis];
    strides[axis] *= attrs.step[i];
  }
  StridedLoop<1> loop = JoinLoops<1>(request.node->shape().dims(), {strides});
  return DispatchSize(request.node->type().dtype,
                      [&](auto tag) { return MakeWalk<typename decltype(tag)::type>(loop, base); });
}

KernelOr MakeExpand(const KernelRequest& request) {
  const Shape& result = request.node->shape();
  StridedLoop<1> loop =
      JoinLoops<1>(result.dims(), {BroadcastStrides(request.operand_shape(0), result)});
  return DispatchSize(request.node->type().dtype,
                      [&](auto tag) { return MakeWalk<typename decltype(tag)::type>(loop, 0); });
}

KernelOr MakeGather(const KernelRequest& request) {
  switch (request.operand_type(1).dtype) {
    case DType::kInt32:
      return MakeGatherBy<int32_t>(request);
    case DType::kInt64:
      return MakeGatherBy<int64_t>(request);
    default:
      return absl::UnimplementedError(
          absl::StrCat("no kernel for indices of ", DTypeName(request.operand_type(1).dtype)));
  }
}

}  // namespace qb::execute
