#include "core/passes/fold_padding.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/movement.h"
#include "core/ops/pointwise.h"
#include "core/ops/pooling.h"
#include "core/ops/transpose_convolution.h"
#include "core/ops/window.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

struct SpatialPadding {
  int64_t north = 0, south = 0, west = 0, east = 0;
};

// Empty when the Pad is not constant, crops, or pads another axis.
std::optional<SpatialPadding> SpatialPaddingOf(const Node& pad, bool channel_last) {
  const auto& attrs = pad.attrs<PadAttrs>();
  if (attrs.pad_mode != PadMode::kConstant || attrs.padding_list.size() != 8) {
    return std::nullopt;
  }
  const auto begin = [&](int64_t axis) { return attrs.padding_list[static_cast<size_t>(axis)]; };
  const auto end = [&](int64_t axis) { return attrs.padding_list[static_cast<size_t>(axis + 4)]; };
  const ImageAxes axes = AxesOfImage(channel_last);
  if (begin(0) != 0 || end(0) != 0 || begin(axes.channel) != 0 || end(axes.channel) != 0 ||
      *std::min_element(attrs.padding_list.begin(), attrs.padding_list.end()) < 0) {
    return std::nullopt;
  }
  return SpatialPadding{begin(axes.height), end(axes.height), begin(axes.width), end(axes.width)};
}

bool ClampsAtZero(const Activation& activation) {
  return activation.kind == ActivationKind::kRelu ||
         (activation.kind == ActivationKind::kClip && activation.min >= 0.0f &&
          activation.max >= activation.min);
}

bool IsNeverNegative(const Node& node) {
  switch (node.op()) {
    case OpKind::kRelu:
    case OpKind::kSigmoid:
    case OpKind::kSoftmax:
    case OpKind::kAbs:
      return true;
    case OpKind::kClip:
      return node.attrs<ClipAttrs>().clip_min_value >= 0.0f &&
             node.attrs<ClipAttrs>().clip_max_value >= 0.0f;
    case OpKind::kConvolution:
      return ClampsAtZero(node.attrs<ConvolutionAttrs>().activation);
    case OpKind::kTransposeConvolution:
      return ClampsAtZero(node.attrs<TransposeConvolutionAttrs>().activation);
    case OpKind::kMatMul:
      return ClampsAtZero(node.attrs<MatMulAttrs>().activation);
    case OpKind::kAdding:
    case OpKind::kMultiply:
      return ClampsAtZero(node.attrs<ElementwiseAttrs>().activation);
    default:
      return false;
  }
}

template <typename A>
void AddPadding(A& attrs, const SpatialPadding& padding) {
  attrs.north_padding += padding.north;
  attrs.south_padding += padding.south;
  attrs.west_padding += padding.west;
  attrs.east_padding += padding.east;
}

bool FoldIntoConvolution(Node* node, const Node& pad) {
  auto& attrs = node->mutable_attrs<ConvolutionAttrs>();
  const std::optional<SpatialPadding> padding = SpatialPaddingOf(pad, attrs.channel_last);
  if (!padding.has_value() || pad.attrs<PadAttrs>().constant != 0.0f) {
    return false;
  }
  AddPadding(attrs, *padding);
  return true;
}

bool PadsNothingYet(const PoolingAttrs& attrs) {
  return attrs.north_padding + attrs.south_padding + attrs.west_padding + attrs.east_padding == 0;
}

// Every window then holds at least one pixel of the input.
bool WindowsReachTheImage(const PoolingAttrs& attrs, const Shape& image) {
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  const auto reaches = [](int64_t dim, int64_t kernel, int64_t dilation, int64_t begin,
                          int64_t end) {
    const int64_t extent = dilation * (kernel - 1) + 1;
    return begin < extent && end < extent && (dilation == 1 || dim >= extent);
  };
  return reaches(image[axes.height], attrs.h_kernel, attrs.h_dilation, attrs.north_padding,
                 attrs.south_padding) &&
         reaches(image[axes.width], attrs.w_kernel, attrs.w_dilation, attrs.west_padding,
                 attrs.east_padding);
}

bool IsLegalForPooling(const PoolingAttrs& attrs, const Node& pad) {
  const float value = pad.attrs<PadAttrs>().constant;
  if (attrs.is_ceil_mode) {
    return false;  // which last windows count depends on what is input and what is padding
  }
  if (attrs.pool_type == PoolType::kAverage) {
    return value == 0.0f && (PadsNothingYet(attrs) || attrs.is_include_pad);
  }
  return value <= std::numeric_limits<float>::lowest() ||
         (value <= 0.0f && IsNeverNegative(*pad.operand(0)));
}

bool FoldIntoPooling(Node* node, const Node& pad) {
  PoolingAttrs attrs = node->attrs<PoolingAttrs>();
  const std::optional<SpatialPadding> padding = SpatialPaddingOf(pad, attrs.channel_last);
  if (!padding.has_value() || !IsLegalForPooling(attrs, pad)) {
    return false;
  }
  AddPadding(attrs, *padding);
  attrs.is_include_pad |= attrs.pool_type == PoolType::kAverage;
  if (!WindowsReachTheImage(attrs, pad.operand(0)->shape())) {
    return false;
  }
  node->mutable_attrs<PoolingAttrs>() = attrs;
  return true;
}

}  // namespace

absl::StatusOr<bool> FoldPadding(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() != OpKind::kConvolution && node->op() != OpKind::kPooling) {
      continue;
    }
    Node* pad = node->operand(0);
    if (pad->op() != OpKind::kPad || !IsOnlyUsedBy(*pad, *node)) {
      continue;
    }
    const bool folded = node->op() == OpKind::kConvolution ? FoldIntoConvolution(node, *pad)
                                                           : FoldIntoPooling(node, *pad);
    if (folded) {
      graph.ReplaceOperand(node, 0, pad->operand(0));
      RemoveIfUnused(graph, pad);
      QB_RETURN_IF_ERROR(RefreshType(graph, node));
      changed = true;
    }
  }
  return changed;
}

}  // namespace qb
