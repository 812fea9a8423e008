#include "core/quantization/mean_window.h"

#include "core/ops/pooling.h"
#include "core/ops/reduce.h"

namespace qb {
namespace {

// Weights beyond this many would cost more than a mean is worth.
constexpr int64_t kMostWeights = int64_t{1} << 22;

std::optional<MeanWindow> WithWeights(MeanWindow window, int64_t channels) {
  const int64_t taps = window.conv.kernel_h * window.conv.kernel_w;
  if (channels < 1 || taps < 1 || taps > kMostWeights / channels) {
    return std::nullopt;
  }
  window.conv.groups = channels;
  window.conv.weights.assign(static_cast<size_t>(taps * channels), 1);
  window.conv.weight_scales.assign(static_cast<size_t>(channels),
                                   static_cast<float>(window.factor));
  return window;
}

std::optional<MeanWindow> OverAxes(const Shape& shape, bool rows, bool columns, bool mean) {
  if (shape.rank() != 4 || shape[0] != 1) {
    return std::nullopt;
  }
  MeanWindow window;
  window.conv.kernel_h = rows ? shape[1] : 1;
  window.conv.kernel_w = columns ? shape[2] : 1;
  window.factor =
      mean ? 1.0 / static_cast<double>(window.conv.kernel_h * window.conv.kernel_w) : 1.0;
  window.result = Shape{1, rows ? 1 : shape[1], columns ? 1 : shape[2], shape[3]};
  return WithWeights(std::move(window), shape[3]);
}

std::optional<MeanWindow> OfReduce(const Node& node) {
  bool rows = false, columns = false;
  for (const int64_t axis : node.attrs<ReduceAttrs>().reduce_axes) {
    rows = rows || axis == 1;
    columns = columns || axis == 2;
    if (axis != 1 && axis != 2) {
      return std::nullopt;
    }
  }
  return OverAxes(node.operand(0)->shape(), rows, columns, node.op() == OpKind::kReduceMean);
}

// Whether `places` windows of this extent and stride fit the padded input exactly as a
// convolution's.
bool Fits(int64_t padded, int64_t extent, int64_t stride, int64_t places) {
  return padded >= extent && (padded - extent) / stride + 1 == places;
}

std::optional<MeanWindow> OfPooling(const Node& node) {
  const PoolingAttrs& attrs = node.attrs<PoolingAttrs>();
  const Shape& from = node.operand(0)->shape();
  const Shape& to = node.shape();
  const int64_t pad_rows = attrs.north_padding + attrs.south_padding;
  const int64_t pad_columns = attrs.west_padding + attrs.east_padding;
  const bool even = attrs.is_include_pad || (pad_rows == 0 && pad_columns == 0);
  if (attrs.pool_type != PoolType::kAverage || !attrs.channel_last || from.rank() != 4 ||
      from[0] != 1 || !even ||
      !Fits(from[1] + pad_rows, attrs.h_dilation * (attrs.h_kernel - 1) + 1, attrs.h_stride,
            to[1]) ||
      !Fits(from[2] + pad_columns, attrs.w_dilation * (attrs.w_kernel - 1) + 1, attrs.w_stride,
            to[2])) {
    return std::nullopt;
  }
  MeanWindow window;
  window.conv.kernel_h = attrs.h_kernel;
  window.conv.kernel_w = attrs.w_kernel;
  window.conv.stride_h = attrs.h_stride;
  window.conv.stride_w = attrs.w_stride;
  window.conv.dilation_h = attrs.h_dilation;
  window.conv.dilation_w = attrs.w_dilation;
  window.conv.pad_top = attrs.north_padding;
  window.conv.pad_bottom = attrs.south_padding;
  window.conv.pad_left = attrs.west_padding;
  window.conv.pad_right = attrs.east_padding;
  window.factor = 1.0 / static_cast<double>(attrs.h_kernel * attrs.w_kernel);
  window.result = to;
  return WithWeights(std::move(window), from[3]);
}

}  // namespace

std::optional<MeanWindow> MeanWindowOf(const Node& node) {
  switch (node.op()) {
    case OpKind::kPooling:
      return OfPooling(node);
    case OpKind::kGlobalAveragePooling:
      return node.attrs<GlobalAveragePoolingAttrs>().channel_last
                 ? OverAxes(node.operand(0)->shape(), true, true, true)
                 : std::nullopt;
    case OpKind::kReduceMean:
    case OpKind::kReduceSum:
      return OfReduce(node);
    default:
      return std::nullopt;
  }
}

}  // namespace qb
