#include "core/quantization/linear_form.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/ops/convolution.h"
#include "core/ops/matmul.h"
#include "core/ops/normalization.h"
#include "core/ops/op_def.h"
#include "core/ops/transpose_convolution.h"

namespace qb {
namespace {

absl::Status Unsupported(const Node& node, absl::string_view what) {
  return Failure(FailureCode::kUnsupportedOperator,
                 absl::StrCat("quantization: layer '", node.name(), "' (", OpDefOf(node.op()).name,
                              "): ", what));
}

bool IsFloatConstant(const Node* node) {
  return node->is_constant() && node->type().dtype == DType::kFloat32;
}

std::vector<float> Values(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return std::vector<float>(values.begin(), values.end());
}

// What ConvolutionAttrs and TransposeConvolutionAttrs share.
template <typename Attrs>
absl::StatusOr<LinearForm> FromWindow(const Node& node) {
  const Attrs& attrs = node.attrs<Attrs>();
  const Shape& shape = node.operand(Attrs::kInput)->shape();
  if (!attrs.channel_last) {
    return Unsupported(node, "channels come first; the layout pass puts them last");
  }
  if (shape[0] != 1) {
    return Unsupported(node, absl::StrCat("batch ", shape[0], "; 1 is accepted"));
  }
  LinearForm form;
  form.input = node.operand(Attrs::kInput);
  form.weights = node.operand(Attrs::kWeights)->constant();
  const size_t channels = static_cast<size_t>(form.weights.shape()[0]);
  form.bias = node.operand_count() > Attrs::kBias ? Values(node.operand(Attrs::kBias)->constant())
                                                  : std::vector<float>(channels, 0.0f);
  form.groups = attrs.group_number;
  form.pad_bottom = attrs.south_padding;
  form.pad_right = attrs.east_padding;
  form.window = {.rows = shape[1],
                 .columns = shape[2],
                 .channels = shape[3],
                 .kernel_h = attrs.h_kernel,
                 .kernel_w = attrs.w_kernel,
                 .stride_h = attrs.h_stride,
                 .stride_w = attrs.w_stride,
                 .dilation_h = attrs.h_dilation,
                 .dilation_w = attrs.w_dilation,
                 .pad_top = attrs.north_padding,
                 .pad_left = attrs.west_padding,
                 .out_rows = node.shape()[1],
                 .out_columns = node.shape()[2]};
  form.activation = attrs.activation;
  return form;
}

absl::StatusOr<LinearForm> FromTransposeConvolution(const Node& node) {
  const auto& attrs = node.attrs<TransposeConvolutionAttrs>();
  const int64_t rows_reached = attrs.h_dilation * (attrs.h_kernel - 1);
  const int64_t columns_reached = attrs.w_dilation * (attrs.w_kernel - 1);
  if (std::max(attrs.north_padding, attrs.south_padding) > rows_reached ||
      std::max(attrs.west_padding, attrs.east_padding) > columns_reached) {
    return Unsupported(node,
                       "a padding that cuts off more than the kernel's border; up to dilation * "
                       "(kernel - 1) is accepted");
  }
  QB_ASSIGN_OR_RETURN(LinearForm form, FromWindow<TransposeConvolutionAttrs>(node));
  form.transposed = true;
  form.out_pad_bottom = attrs.south_out_padding;
  form.out_pad_right = attrs.east_out_padding;
  return form;
}

// [K, N] to [N, 1, 1, K].
Tensor TransposedWeights(const Tensor& b, int64_t k, int64_t n) {
  Tensor weights = Tensor::Allocate({DType::kFloat32, Shape{n, 1, 1, k}});
  const float* from = b.data<float>();
  float* to = weights.mutable_data<float>();
  for (int64_t row = 0; row < k; ++row) {
    for (int64_t column = 0; column < n; ++column) {
      to[column * k + row] = from[row * n + column];
    }
  }
  return weights;
}

absl::StatusOr<LinearForm> FromMatMul(const Node& node) {
  const Shape& a = node.operand(MatMulAttrs::kA)->shape();
  const Shape& b = node.operand(MatMulAttrs::kB)->shape();
  const int64_t k = a[a.rank() - 1];
  const int64_t n = b[b.rank() - 1];
  LinearForm form;
  form.input = node.operand(MatMulAttrs::kA);
  form.weights = TransposedWeights(node.operand(MatMulAttrs::kB)->constant(), k, n);
  form.bias = node.operand_count() > MatMulAttrs::kBias
                  ? Values(node.operand(MatMulAttrs::kBias)->constant())
                  : std::vector<float>(static_cast<size_t>(n), 0.0f);
  const int64_t rows = k == 0 ? 0 : a.elements() / k;
  form.window = {.rows = rows, .columns = 1, .channels = k, .out_rows = rows, .out_columns = 1};
  form.activation = node.attrs<MatMulAttrs>().activation;
  return form;
}

// gamma / sqrt(variance + epsilon) as a depthwise 1x1 kernel.
absl::StatusOr<LinearForm> FromBatchnorm(const Node& node) {
  const BatchnormAttrs& attrs = node.attrs<BatchnormAttrs>();
  const Shape& shape = node.shape();
  if (shape.rank() != 4 || attrs.axis != 3 || shape[0] != 1) {
    return Unsupported(node, absl::StrCat("shape ", shape.ToString(), " with channel axis ",
                                          attrs.axis, "; 1xHxWxC with axis 3 is accepted"));
  }
  const auto operand = [&](int64_t index) {
    return node.operand(index)->constant().values<float>();
  };
  const int64_t channels = shape[3];
  LinearForm form;
  form.input = node.operand(BatchnormAttrs::kInput);
  form.groups = channels;
  form.window = {.rows = shape[1],
                 .columns = shape[2],
                 .channels = channels,
                 .out_rows = shape[1],
                 .out_columns = shape[2]};
  std::vector<float> scales;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const double scale =
        static_cast<double>(operand(BatchnormAttrs::kGamma)[c]) /
        std::sqrt(static_cast<double>(operand(BatchnormAttrs::kVariance)[c]) + attrs.epsilon);
    scales.push_back(static_cast<float>(scale));
    form.bias.push_back(static_cast<float>(operand(BatchnormAttrs::kBeta)[c] -
                                           operand(BatchnormAttrs::kMean)[c] * scale));
  }
  form.weights = Tensor::OfFloats({channels, 1, 1, 1}, scales);
  return form;
}

// Every operand from the second on is constant.
bool HasConstantParameters(const Node& node) {
  for (int64_t i = 1; i < node.operand_count(); ++i) {
    if (!IsFloatConstant(node.operand(i))) {
      return false;
    }
  }
  return !node.operand(0)->is_constant();
}

}  // namespace

bool IsLinear(const Node& node) {
  switch (node.op()) {
    case OpKind::kConvolution:
    case OpKind::kTransposeConvolution:
    case OpKind::kBatchnorm:
      return true;
    case OpKind::kMatMul:
      return IsProductWithConstant(node);
    default:
      return false;
  }
}

absl::StatusOr<LinearForm> LinearFormOf(const Node& node) {
  if (!HasConstantParameters(node)) {
    return Unsupported(node, "weights and bias must be float32 constants, the input must not be");
  }
  switch (node.op()) {
    case OpKind::kConvolution:
      return FromWindow<ConvolutionAttrs>(node);
    case OpKind::kTransposeConvolution:
      return FromTransposeConvolution(node);
    case OpKind::kBatchnorm:
      return FromBatchnorm(node);
    default:
      return FromMatMul(node);
  }
}

std::vector<double> MeanBeforeActivation(const LinearForm& form,
                                         const std::vector<double>& tap_means) {
  const int64_t outputs = form.channels_out();
  const int64_t group_in = form.window.channels / form.groups;
  const int64_t group_out = outputs / form.groups;
  const int64_t kernel = form.window.kernel_h * form.window.kernel_w;
  const float* weights = form.weights.data<float>();
  std::vector<double> means;
  for (int64_t m = 0; m < outputs; ++m) {
    const int64_t first = m / group_out * group_in;
    double mean = form.bias[static_cast<size_t>(m)];
    for (int64_t k = 0; k < kernel; ++k) {
      const double* taps = tap_means.data() + k * form.window.channels + first;
      for (int64_t c = 0; c < group_in; ++c) {
        mean += static_cast<double>(*weights++) * taps[c];
      }
    }
    means.push_back(mean);
  }
  return means;
}

}  // namespace qb
