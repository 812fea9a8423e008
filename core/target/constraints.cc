#include "core/target/constraints.h"

#include <algorithm>
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/ops/movement.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"
#include "core/ops/pooling.h"
#include "core/ops/prelu.h"
#include "core/ops/transpose_convolution.h"
#include "core/target/value_source.h"

namespace qb {
namespace {

using Finding = std::optional<std::string>;

bool IsOneOf(OpKind op, std::initializer_list<OpKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), op) != kinds.end();
}

bool IsConvolution(const Node& node) {
  return IsOneOf(node.op(), {OpKind::kConvolution, OpKind::kTransposeConvolution});
}

bool IsConstantOrNone(const Node& node, int64_t operand) {
  return operand >= node.operand_count() || node.operand(operand)->is_constant();
}

Finding KnownOperator(const Node& node, const TargetSpec&) {
  const bool known = IsPointwise(node.op()) || IsOneOf(node.op(), {OpKind::kConvolution,
                                                                   OpKind::kTransposeConvolution,
                                                                   OpKind::kMatMul,
                                                                   OpKind::kAdding,
                                                                   OpKind::kPRelu,
                                                                   OpKind::kSub,
                                                                   OpKind::kMultiply,
                                                                   OpKind::kDiv,
                                                                   OpKind::kPow,
                                                                   OpKind::kMaximum,
                                                                   OpKind::kMinimum,
                                                                   OpKind::kBatchnorm,
                                                                   OpKind::kSoftmax,
                                                                   OpKind::kPooling,
                                                                   OpKind::kGlobalAveragePooling,
                                                                   OpKind::kReduceMean,
                                                                   OpKind::kReduceSum,
                                                                   OpKind::kReshape,
                                                                   OpKind::kTranspose,
                                                                   OpKind::kConcatenate,
                                                                   OpKind::kSlice,
                                                                   OpKind::kPad,
                                                                   OpKind::kResize,
                                                                   OpKind::kDepthToSpace,
                                                                   OpKind::kSpaceToDepth});
  if (known) {
    return std::nullopt;
  }
  return std::string(OpDefOf(node.op()).name);
}

Finding FloatValues(const Node& node, const TargetSpec&) {
  if (node.type().dtype == DType::kFloat32) {
    return std::nullopt;
  }
  return std::string(DTypeName(node.type().dtype));
}

Finding Rank(const Node& node, const TargetSpec& target) {
  int64_t rank = node.shape().rank();
  for (const Node* operand : node.operands()) {
    rank = std::max(rank, operand->shape().rank());
  }
  if (rank <= target.largest_rank) {
    return std::nullopt;
  }
  return absl::StrCat("rank ", rank, " (at most ", target.largest_rank, ")");
}

Finding NonEmpty(const Node& node, const TargetSpec&) {
  for (const Node* operand : node.operands()) {
    if (operand->shape().elements() == 0) {
      return absl::StrCat("'", operand->name(), "' of shape ", operand->shape().ToString());
    }
  }
  if (node.shape().elements() == 0) {
    return node.shape().ToString();
  }
  return std::nullopt;
}

Finding BatchOne(const Node& node, const TargetSpec&) {
  if (!IsOneOf(node.op(), {OpKind::kConvolution, OpKind::kTransposeConvolution, OpKind::kPooling,
                           OpKind::kGlobalAveragePooling, OpKind::kResize, OpKind::kDepthToSpace,
                           OpKind::kSpaceToDepth})) {
    return std::nullopt;
  }
  if (node.shape().rank() > 0 && node.shape()[0] == 1) {
    return std::nullopt;
  }
  return node.shape().ToString();
}

Finding ConstantWeights(const Node& node, const TargetSpec&) {
  static_assert(TransposeConvolutionAttrs::kWeights == ConvolutionAttrs::kWeights &&
                TransposeConvolutionAttrs::kBias == ConvolutionAttrs::kBias);
  if (!IsConvolution(node) || (IsConstantOrNone(node, ConvolutionAttrs::kWeights) &&
                               IsConstantOrNone(node, ConvolutionAttrs::kBias))) {
    return std::nullopt;
  }
  return std::string("weights that another operator computes");
}

struct WindowSizes {
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
};

std::optional<WindowSizes> WindowOf(const Node& node) {
  if (node.op() == OpKind::kConvolution) {
    const ConvolutionAttrs& a = node.attrs<ConvolutionAttrs>();
    return WindowSizes{a.h_kernel, a.w_kernel, a.h_stride, a.w_stride, a.h_dilation, a.w_dilation};
  }
  if (node.op() == OpKind::kTransposeConvolution) {
    const auto& a = node.attrs<TransposeConvolutionAttrs>();
    return WindowSizes{a.h_kernel, a.w_kernel, a.h_stride, a.w_stride, a.h_dilation, a.w_dilation};
  }
  if (node.op() == OpKind::kPooling) {
    const PoolingAttrs& a = node.attrs<PoolingAttrs>();
    return WindowSizes{a.h_kernel, a.w_kernel, a.h_stride, a.w_stride, a.h_dilation, a.w_dilation};
  }
  return std::nullopt;
}

Finding Beyond(int64_t h, int64_t w, int64_t most) {
  if (h <= most && w <= most) {
    return std::nullopt;
  }
  return absl::StrCat(h, "x", w, " (at most ", most, ")");
}

Finding Kernel(const Node& node, const TargetSpec& target) {
  const std::optional<WindowSizes> w = WindowOf(node);
  return w.has_value() ? Beyond(w->kernel_h, w->kernel_w, target.largest_kernel) : std::nullopt;
}

Finding Stride(const Node& node, const TargetSpec& target) {
  const std::optional<WindowSizes> w = WindowOf(node);
  return w.has_value() ? Beyond(w->stride_h, w->stride_w, target.largest_stride) : std::nullopt;
}

Finding Dilation(const Node& node, const TargetSpec& target) {
  const std::optional<WindowSizes> w = WindowOf(node);
  return w.has_value() ? Beyond(w->dilation_h, w->dilation_w, target.largest_dilation)
                       : std::nullopt;
}

// 2^31 / (127 * 255) products of a weight and an activation, 2^31 / 255^2 of two activations.
Finding SumLength(const Node& node, const TargetSpec&) {
  int64_t length = 0;
  int64_t most = (int64_t{1} << 31) / (int64_t{127} * 255) - 1;
  if (IsConvolution(node)) {
    const Shape& weights = node.operand(ConvolutionAttrs::kWeights)->shape();
    length = weights.rank() == 0 || weights[0] == 0 ? 0 : weights.elements() / weights[0];
  } else if (node.op() == OpKind::kMatMul) {
    const Shape& a = node.operand(0)->shape();
    length = a.rank() == 0 ? 0 : a[a.rank() - 1];
    if (!node.operand(1)->is_constant()) {
      most = (int64_t{1} << 31) / (int64_t{255} * 255) - 1;
    }
  }
  if (length <= most) {
    return std::nullopt;
  }
  return absl::StrCat(length, " (at most ", most, ")");
}

// What the vector unit computes without a table: clamps, and scaling by constants.
bool NeedsTable(const Node& node) {
  if (IsOneOf(node.op(), {OpKind::kRelu, OpKind::kClip, OpKind::kIdentity, OpKind::kNeg})) {
    return false;
  }
  return IsPointwise(node.op()) || IsOneOf(node.op(), {OpKind::kSoftmax, OpKind::kPow});
}

Finding LookupUnit(const Node& node, const TargetSpec& target) {
  if (target.lut_unit || !NeedsTable(node)) {
    return std::nullopt;
  }
  return std::string(OpDefOf(node.op()).name);
}

Finding OneVaryingOperand(const Node& node, const TargetSpec&) {
  if (!IsOneOf(node.op(), {OpKind::kDiv, OpKind::kPow, OpKind::kMaximum, OpKind::kMinimum})) {
    return std::nullopt;
  }
  const bool by_constant = node.op() == OpKind::kDiv && node.operand(1)->is_constant();
  if (by_constant || SourceOfPointwiseValue(node) != nullptr) {
    return std::nullopt;
  }
  return absl::StrCat("'", node.operand(0)->name(), "' and '", node.operand(1)->name(), "'");
}

Finding ConstantPadding(const Node& node, const TargetSpec&) {
  if (node.op() != OpKind::kPad) {
    return std::nullopt;
  }
  const PadAttrs& attrs = node.attrs<PadAttrs>();
  if (attrs.pad_mode != PadMode::kConstant) {
    return absl::StrCat("mode ", NameOfEnum(attrs.pad_mode));
  }
  for (const int64_t padding : attrs.padding_list) {
    if (padding < 0) {
      return absl::StrCat("padding ", padding);
    }
  }
  return std::nullopt;
}

Finding ImageResize(const Node& node, const TargetSpec&) {
  if (node.op() != OpKind::kResize) {
    return std::nullopt;
  }
  const ResizeAttrs& attrs = node.attrs<ResizeAttrs>();
  if (!IsPlainResize(attrs)) {
    return "antialias, exclude_outside or tf_crop_and_resize";
  }
  if (attrs.mode != ResizeMode::kCubic && node.shape().rank() == 4) {
    return std::nullopt;
  }
  return absl::StrCat("mode ", NameOfEnum(attrs.mode), " to ", node.shape().ToString());
}

// One slope, or slopes that differ along the channels only; these come last.
Finding ChannelSlopes(const Node& node, const TargetSpec&) {
  if (node.op() != OpKind::kPRelu) {
    return std::nullopt;
  }
  const Node* slope = node.operand(PReluOperands::kSlope);
  if (!slope->is_constant()) {
    return absl::StrCat("'", slope->name(), "', which another operator computes");
  }
  const Shape& shape = slope->shape();
  if (shape.elements() == 1 || (shape.rank() > 0 && shape[shape.rank() - 1] == shape.elements())) {
    return std::nullopt;
  }
  return absl::StrCat("slopes of shape ", shape.ToString());
}

// The unit starts from the border of the input; what the kernel does not reach it cannot cut off.
Finding SpreadPadding(const Node& node, const TargetSpec&) {
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

Finding MatrixOperands(const Node& node, const TargetSpec&) {
  if (node.op() != OpKind::kMatMul) {
    return std::nullopt;
  }
  const Shape& a = node.operand(0)->shape();
  const Shape& b = node.operand(1)->shape();
  if (a.rank() < 2 || b.rank() < 2) {
    return absl::StrCat(a.ToString(), " and ", b.ToString());
  }
  if (!IsConstantOrNone(node, 2)) {
    return std::string("a bias that another operator computes");
  }
  return std::nullopt;
}

constexpr auto kConstraints = std::to_array<Constraint>({
    {"operator", "The NPU has no instruction for this operator", KnownOperator},
    {"float-values", "The values must be float32 before quantization", FloatValues},
    {"rank", "A tensor has a limited number of dimensions", Rank},
    {"non-empty", "A tensor must have at least one element", NonEmpty},
    {"batch", "Images are processed one at a time: the batch dimension must be 1", BatchOne},
    {"constant-weights", "The weights and the bias of a convolution must be constant",
     ConstantWeights},
    {"kernel", "The window of a convolution or pooling is limited", Kernel},
    {"stride", "The stride of a convolution or pooling is limited", Stride},
    {"dilation", "The dilation of a convolution or pooling is limited", Dilation},
    {"sum-length", "A sum of products must fit the 32-bit accumulator whatever the codes are",
     SumLength},
    {"matrix-operands", "A matrix product takes matrices, and a constant bias", MatrixOperands},
    {"lookup-unit", "This target has no lookup-table unit for non-linear functions", LookupUnit},
    {"one-varying-operand",
     "Div needs a constant divisor; Pow, Maximum and Minimum one operand that varies",
     OneVaryingOperand},
    {"constant-padding", "Padding is done with a constant and never crops", ConstantPadding},
    {"image-resize", "Images are resized by the nearest element or linearly", ImageResize},
    {"spread-padding", "The padding of a transposed convolution is at most dilation * (kernel - 1)",
     SpreadPadding},
    {"channel-slopes", "The slopes of a PRelu must be constant, one for each channel",
     ChannelSlopes},
});

}  // namespace

absl::Span<const Constraint> AllConstraints() { return kConstraints; }

}  // namespace qb
