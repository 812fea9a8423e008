#include "core/execute/kernels/plain_convolution.h"

#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/clamp.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/execute/kernels/row_reduction.h"
#include "core/ops/convolution.h"
#include "core/ops/window.h"

namespace qb::execute {
namespace {

// A tensor of rank 4 seen as [batch, channel, row, column], whatever its layout.
struct ImageView {
  int64_t channels, rows, columns;
  int64_t batch_stride, channel_stride, row_stride, column_stride;
};

ImageView ViewOf(const Shape& shape, bool channel_last) {
  const ImageAxes axes = AxesOfImage(channel_last);
  const std::vector<int64_t> strides = shape.strides();
  return {shape[axes.channel],
          shape[axes.height],
          shape[axes.width],
          strides[0],
          strides[static_cast<size_t>(axes.channel)],
          strides[static_cast<size_t>(axes.height)],
          strides[static_cast<size_t>(axes.width)]};
}

struct PlainPlan {
  ConvolutionAttrs attrs;
  ImageView x, w, y;
  int64_t batch = 0;
  bool has_bias = false;
};

// The sum over the window of one result.
template <typename T>
T WindowSum(const PlainPlan& plan, const T* x, const T* w, int64_t row, int64_t column) {
  const ConvolutionAttrs& attrs = plan.attrs;
  T sum{};
  for (int64_t kh = 0; kh < attrs.h_kernel; ++kh) {
    const int64_t h = row * attrs.h_stride + kh * attrs.h_dilation - attrs.north_padding;
    if (h < 0 || h >= plan.x.rows) {
      continue;
    }
    for (int64_t kw = 0; kw < attrs.w_kernel; ++kw) {
      const int64_t v = column * attrs.w_stride + kw * attrs.w_dilation - attrs.west_padding;
      if (v < 0 || v >= plan.x.columns) {
        continue;
      }
      const T* pixel = x + h * plan.x.row_stride + v * plan.x.column_stride;
      const T* weight = w + kh * plan.w.row_stride + kw * plan.w.column_stride;
      for (int64_t c = 0; c < plan.w.channels; ++c) {
        sum = Sum<T>()(
            sum, Product<T>()(pixel[c * plan.x.channel_stride], weight[c * plan.w.channel_stride]));
      }
    }
  }
  return sum;
}

template <typename T>
void Convolve(const PlainPlan& plan, const KernelArgs& args) {
  const T* bias = plan.has_bias ? args.operand<T>(ConvolutionAttrs::kBias) : nullptr;
  const Clamp<T> clamp = ClampOf<T>(plan.attrs.activation);
  const int64_t results_a_group = plan.y.channels / plan.attrs.group_number;
  for (int64_t n = 0; n < plan.batch; ++n) {
    for (int64_t m = 0; m < plan.y.channels; ++m) {
      const T* x = args.operand<T>(ConvolutionAttrs::kInput) + n * plan.x.batch_stride +
                   m / results_a_group * plan.w.channels * plan.x.channel_stride;
      const T* w = args.operand<T>(ConvolutionAttrs::kWeights) + m * plan.w.batch_stride;
      T* y = args.output<T>() + n * plan.y.batch_stride + m * plan.y.channel_stride;
      for (int64_t row = 0; row < plan.y.rows; ++row) {
        for (int64_t column = 0; column < plan.y.columns; ++column) {
          const T sum = WindowSum(plan, x, w, row, column);
          y[row * plan.y.row_stride + column * plan.y.column_stride] =
              clamp(bias == nullptr ? sum : Sum<T>()(sum, bias[m]));
        }
      }
    }
  }
}

}  // namespace

KernelOr MakePlainConvolution(const KernelRequest& request) {
  PlainPlan plan;
  plan.attrs = request.node->attrs<ConvolutionAttrs>();
  const bool last = plan.attrs.channel_last;
  plan.x = ViewOf(request.operand_shape(ConvolutionAttrs::kInput), last);
  plan.w = ViewOf(request.operand_shape(ConvolutionAttrs::kWeights), last);
  plan.y = ViewOf(request.node->shape(), last);
  plan.batch = request.node->shape()[0];
  plan.has_bias = request.node->operand_count() > ConvolutionAttrs::kBias;
  switch (request.node->type().dtype) {
    case DType::kFloat64:
      return MakeBodyKernel([plan](const KernelArgs& args) { Convolve<double>(plan, args); });
    case DType::kInt32:
      return MakeBodyKernel([plan](const KernelArgs& args) { Convolve<int32_t>(plan, args); });
    default:
      return absl::UnimplementedError(
          absl::StrCat("no kernel for ", DTypeName(request.node->type().dtype)));
  }
}

}  // namespace qb::execute
