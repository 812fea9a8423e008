// Pooling, global pooling and reductions.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/ops/pooling.h"
#include "core/ops/reduce.h"
#include "core/quantization/lowering.h"
#include "core/quantization/mean_window.h"
#include "core/quantization/weight_quantization.h"

namespace qb {
namespace {

double ScaleRatio(const Lowering& lowering, const Node* node) {
  return static_cast<double>(lowering.narrow_scale(node->operand(0)).scale) /
         static_cast<double>(lowering.scale(node).scale);
}

// Sums over `axes`, times `factor`.
void AddReduction(Lowering& lowering, const Node* node, std::vector<int64_t> axes, double factor) {
  integer::ReduceParams params;
  params.axes = std::move(axes);
  params.requant = RequantFor(factor * ScaleRatio(lowering, node));
  const int from = lowering.NarrowTensor(node->operand(0));
  lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), std::move(params));
}

// Whether a mean reads or writes 16-bit codes: then it is a convolution with weights of one.
bool IsWide(const Lowering& lowering, const Node* node) {
  return lowering.scale(node).dtype == DType::kInt16 ||
         lowering.scale(node->operand(0)).dtype == DType::kInt16;
}

void AddWideMean(Lowering& lowering, const Node* node, MeanWindow window) {
  const int from = lowering.tensor(node->operand(0));
  const ValueScale& scale = lowering.scale(node);
  const size_t channels = window.conv.weight_scales.size();
  if (lowering.info(from).dtype == DType::kInt16) {
    window.conv.wide_bias.assign(channels, 0);
  } else {
    window.conv.bias.assign(channels, 0);
  }
  const double ratio = static_cast<double>(lowering.scale(node->operand(0)).scale) / scale.scale;
  window.conv.requant.assign(channels, RequantFor(window.factor * ratio));
  const CodeRange codes = CodesOf({}, scale);
  window.conv.clamp_min = codes.low;
  window.conv.clamp_max = codes.high;
  const bool same_shape = window.result == node->shape();
  const std::string name = absl::StrCat(node->name(), same_shape ? "" : "/mean");
  const int result =
      same_shape ? lowering.AddValue(node) : lowering.AddTensor(name, window.result, scale);
  lowering.AddLayer(name, {from}, result, std::move(window.conv));
  if (!same_shape) {
    lowering.AddLayer(node->name(), {result}, lowering.AddValue(node), integer::ReshapeParams{});
  }
}

// Does so where it applies.
bool LowerWideMean(Lowering& lowering, const Node* node) {
  std::optional<MeanWindow> window = IsWide(lowering, node) ? MeanWindowOf(*node) : std::nullopt;
  if (!window.has_value()) {
    return false;
  }
  AddWideMean(lowering, node, *std::move(window));
  return true;
}

}  // namespace

absl::Status LowerPooling(Lowering& lowering, const Node* node) {
  const PoolingAttrs& attrs = node->attrs<PoolingAttrs>();
  if (!attrs.channel_last) {
    return UnsupportedLayer(*node, "channels come first; the layout pass puts them last");
  }
  if (LowerWideMean(lowering, node)) {
    return absl::OkStatus();
  }
  integer::PoolParams params;
  params.is_max = attrs.pool_type == PoolType::kMax;
  params.kernel_h = attrs.h_kernel;
  params.kernel_w = attrs.w_kernel;
  params.stride_h = attrs.h_stride;
  params.stride_w = attrs.w_stride;
  params.dilation_h = attrs.h_dilation;
  params.dilation_w = attrs.w_dilation;
  params.pad_top = attrs.north_padding;
  params.pad_bottom = attrs.south_padding;
  params.pad_left = attrs.west_padding;
  params.pad_right = attrs.east_padding;
  params.count_include_pad = attrs.is_include_pad;
  if (!params.is_max) {
    const double ratio = ScaleRatio(lowering, node);
    params.requant_by_count.emplace_back();  // no window counts nothing
    for (int64_t count = 1; count <= attrs.h_kernel * attrs.w_kernel; ++count) {
      params.requant_by_count.push_back(RequantFor(ratio / static_cast<double>(count)));
    }
  }
  const int from = lowering.NarrowTensor(node->operand(0));
  lowering.AddLayer(node->name(), {from}, lowering.AddValue(node), std::move(params));
  return absl::OkStatus();
}

absl::Status LowerGlobalPooling(Lowering& lowering, const Node* node) {
  if (!node->attrs<GlobalAveragePoolingAttrs>().channel_last) {
    return UnsupportedLayer(*node, "channels come first; the layout pass puts them last");
  }
  if (LowerWideMean(lowering, node)) {
    return absl::OkStatus();
  }
  const Shape& shape = node->operand(0)->shape();
  AddReduction(lowering, node, {1, 2}, 1.0 / static_cast<double>(shape[1] * shape[2]));
  return absl::OkStatus();
}

absl::Status LowerReduce(Lowering& lowering, const Node* node) {
  if (LowerWideMean(lowering, node)) {
    return absl::OkStatus();
  }
  const ReduceAttrs& attrs = node->attrs<ReduceAttrs>();
  double count = 1.0;
  for (const int64_t axis : attrs.reduce_axes) {
    count *= static_cast<double>(node->operand(0)->shape()[axis]);
  }
  const double factor = node->op() == OpKind::kReduceMean ? 1.0 / count : 1.0;
  AddReduction(lowering, node, attrs.reduce_axes, factor);
  return absl::OkStatus();
}

// Global max pooling: one window over all rows and columns.
// Over neighbouring axes: a maximum of windows of one row each of [1, outer, reduced, inner], or of
// the whole image where that is what it is.
absl::Status LowerReduceMax(Lowering& lowering, const Node* node) {
  const Shape& shape = node->operand(0)->shape();
  const std::vector<int64_t>& axes = node->attrs<ReduceAttrs>().reduce_axes;
  if (axes.back() - axes.front() + 1 != static_cast<int64_t>(axes.size())) {
    return UnsupportedLayer(*node, absl::StrCat("a maximum of ", shape.ToString(),
                                                "; one over neighbouring axes is accepted"));
  }
  int64_t sizes[3] = {1, 1, 1};  // before, of and behind the axes
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    sizes[axis < axes.front() ? 0 : axis <= axes.back() ? 1 : 2] *= shape[axis];
  }
  const auto [outer, reduced, inner] = sizes;
  const bool is_image = shape.rank() == 4 && shape[0] == 1 && axes == std::vector<int64_t>{1, 2};
  const ValueScale& scale = lowering.scale(node);
  integer::PoolParams params;
  params.kernel_h = is_image ? shape[1] : 1;
  params.kernel_w = is_image ? shape[2] : reduced;
  params.stride_w = is_image ? 1 : reduced;
  int input = lowering.NarrowTensor(node->operand(0));
  if (is_image && node->shape().rank() == 4) {
    lowering.AddLayer(node->name(), {input}, lowering.AddValue(node), std::move(params));
    return absl::OkStatus();
  }
  if (!is_image) {
    const std::string rows_name = absl::StrCat(node->name(), "/rows");
    const int rows = lowering.AddTensor(rows_name, Shape{1, outer, reduced, inner}, scale);
    lowering.AddLayer(rows_name, {input}, rows, integer::ReshapeParams{});
    input = rows;
  }
  const std::string pooled_name = absl::StrCat(node->name(), "/pooled");
  const int pooled = lowering.AddTensor(pooled_name, Shape{1, outer, 1, inner}, scale);
  lowering.AddLayer(pooled_name, {input}, pooled, std::move(params));
  lowering.AddLayer(node->name(), {pooled}, lowering.AddValue(node), integer::ReshapeParams{});
  return absl::OkStatus();
}

}  // namespace qb
