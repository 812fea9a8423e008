// Rules of convolutions, pooling and reductions.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/pooling.h"
#include "core/ops/reduce.h"
#include "core/ops/transpose_convolution.h"
#include "core/target/constraint_rules.h"

namespace qb {
namespace {

// Sums of codes, of code times weight and of code times code that cannot leave int32.
constexpr int64_t kMostCodes = (int64_t{1} << 31) / 255 - 1;
constexpr int64_t kMostWeighted = (int64_t{1} << 31) / (int64_t{127} * 255) - 1;
constexpr int64_t kMostCodeProducts = (int64_t{1} << 31) / (int64_t{255} * 255) - 1;

bool IsConvolution(const Node& node) {
  return IsOneOf(node.op(), {OpKind::kConvolution, OpKind::kTransposeConvolution});
}

struct WindowSizes {
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
};

template <typename Attrs>
WindowSizes SizesOf(const Node& node) {
  const Attrs& a = node.attrs<Attrs>();
  return {a.h_kernel, a.w_kernel, a.h_stride, a.w_stride, a.h_dilation, a.w_dilation};
}

// A window of one element where the operator has none.
WindowSizes WindowOf(const Node& node) {
  switch (node.op()) {
    case OpKind::kConvolution:
      return SizesOf<ConvolutionAttrs>(node);
    case OpKind::kTransposeConvolution:
      return SizesOf<TransposeConvolutionAttrs>(node);
    case OpKind::kPooling:
      return SizesOf<PoolingAttrs>(node);
    default:
      return {1, 1, 1, 1, 1, 1};
  }
}

Finding Beyond(int64_t h, int64_t w, int64_t most) {
  if (h <= most && w <= most) {
    return std::nullopt;
  }
  return absl::StrCat(h, "x", w, " (at most ", most, ")");
}

bool IsFloatConstantOrNone(const Node& node, int64_t operand) {
  return operand >= node.operand_count() ||
         (node.operand(operand)->is_constant() &&
          node.operand(operand)->type().dtype == DType::kFloat32);
}

}  // namespace

Finding ConstantWeights(const Node& node, const SupportContext&) {
  static_assert(TransposeConvolutionAttrs::kWeights == ConvolutionAttrs::kWeights &&
                TransposeConvolutionAttrs::kBias == ConvolutionAttrs::kBias);
  if (!IsConvolution(node) || (IsFloatConstantOrNone(node, ConvolutionAttrs::kWeights) &&
                               IsFloatConstantOrNone(node, ConvolutionAttrs::kBias))) {
    return std::nullopt;
  }
  return std::string("weights that another operator computes");
}

Finding LargestKernel(const Node& node, const SupportContext& context) {
  const WindowSizes w = WindowOf(node);
  return Beyond(w.kernel_h, w.kernel_w, context.target.largest_kernel);
}

Finding LargestStride(const Node& node, const SupportContext& context) {
  const WindowSizes w = WindowOf(node);
  return Beyond(w.stride_h, w.stride_w, context.target.largest_stride);
}

Finding LargestDilation(const Node& node, const SupportContext& context) {
  const WindowSizes w = WindowOf(node);
  return Beyond(w.dilation_h, w.dilation_w, context.target.largest_dilation);
}

Finding SumLength(const Node& node, const SupportContext&) {
  int64_t length = 0;
  int64_t most = kMostWeighted;
  if (IsConvolution(node)) {
    const Shape& weights = node.operand(ConvolutionAttrs::kWeights)->shape();
    length = weights.rank() == 0 || weights[0] == 0 ? 0 : weights.elements() / weights[0];
  } else if (node.op() == OpKind::kMatMul) {
    const Shape& a = node.operand(MatMulAttrs::kA)->shape();
    length = a.rank() == 0 ? 0 : a[a.rank() - 1];
    most = IsProductWithConstant(node) ? kMostWeighted : kMostCodeProducts;
  }
  if (length <= most) {
    return std::nullopt;
  }
  return absl::StrCat(length, " (at most ", most, ")");
}

// The unit starts from the border of the input; what the kernel does not reach it cannot cut off.
Finding SpreadPadding(const Node& node, const SupportContext&) {
  if (node.op() != OpKind::kTransposeConvolution) {
    return std::nullopt;
  }
  const auto& a = node.attrs<TransposeConvolutionAttrs>();
  const int64_t rows = a.h_dilation * (a.h_kernel - 1);
  const int64_t columns = a.w_dilation * (a.w_kernel - 1);
  const int64_t most_rows = std::max(a.north_padding, a.south_padding);
  const int64_t most_columns = std::max(a.west_padding, a.east_padding);
  if (most_rows <= rows && most_columns <= columns) {
    return std::nullopt;
  }
  return absl::StrCat(most_rows, "x", most_columns, " (at most ", rows, "x", columns, ")");
}

Finding ReducedAxes(const Node& node, const SupportContext&) {
  if (!IsOneOf(node.op(), {OpKind::kReduceMax, OpKind::kReduceMean, OpKind::kReduceSum})) {
    return std::nullopt;
  }
  const Shape& shape = node.operand(0)->shape();
  const std::vector<int64_t>& axes = node.attrs<ReduceAttrs>().reduce_axes;
  if (node.op() == OpKind::kReduceMax) {
    const bool are_neighbours = axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
    return are_neighbours ? Finding()
                          : Finding(absl::StrCat("a maximum of ", shape.ToString(), " over axes ",
                                                 absl::StrJoin(axes, ", ")));
  }
  int64_t count = 1;
  for (const int64_t axis : axes) {
    count *= shape[axis];
  }
  return count <= kMostCodes
             ? Finding()
             : Finding(absl::StrCat("a sum of ", count, " (at most ", kMostCodes, ")"));
}

}  // namespace qb
