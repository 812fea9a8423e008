#include "core/ops/transpose_convolution.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/convolution_operands.h"
#include "core/ops/window.h"

namespace qb {
namespace {

// The size of the result along an axis of `dim` elements: what CountWindows is for a convolution.
absl::StatusOr<int64_t> SpreadSize(absl::string_view axis_name, int64_t dim,
                                   const WindowAxis& window, int64_t out_padding) {
  QB_RETURN_IF_ERROR(CheckWindow(axis_name, window));
  if (out_padding < 0 || out_padding > kMostWindowElements) {
    return absl::InvalidArgumentError(absl::StrCat(axis_name, "_out_padding is ", out_padding,
                                                   "; accepted: 0 to ", kMostWindowElements));
  }
  if (dim < 1 || dim > (int64_t{1} << 40)) {
    return absl::InvalidArgumentError(absl::StrCat("the input has ", dim, " elements along ",
                                                   axis_name, "; accepted: 1 to 2^40"));
  }
  const int64_t size = (dim - 1) * window.stride + window.dilation * (window.kernel - 1) + 1 +
                       out_padding - window.begin_padding - window.end_padding;
  if (size < 1) {
    return absl::InvalidArgumentError(absl::StrCat("paddings of ", window.begin_padding, " and ",
                                                   window.end_padding, " along ", axis_name,
                                                   " leave nothing of the result"));
  }
  return size;
}

}  // namespace

absl::StatusOr<TensorType> InferTransposeConvolution(const InferenceInput& input) {
  const auto& attrs = input.attributes<TransposeConvolutionAttrs>();
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  QB_RETURN_IF_ERROR(
      CheckConvolutionOperands(input, {axes, attrs.h_kernel, attrs.w_kernel, attrs.group_number}));
  QB_RETURN_IF_ERROR(CheckActivation(attrs.activation));
  TensorType type = input.type(TransposeConvolutionAttrs::kInput);
  const WindowAxis rows = {attrs.h_kernel, attrs.h_stride, attrs.h_dilation, attrs.north_padding,
                           attrs.south_padding};
  const WindowAxis columns = {attrs.w_kernel, attrs.w_stride, attrs.w_dilation, attrs.west_padding,
                              attrs.east_padding};
  QB_ASSIGN_OR_RETURN(type.shape[axes.height],
                      SpreadSize("h", type.shape[axes.height], rows, attrs.south_out_padding));
  QB_ASSIGN_OR_RETURN(type.shape[axes.width],
                      SpreadSize("w", type.shape[axes.width], columns, attrs.east_out_padding));
  type.shape[axes.channel] = input.shape(TransposeConvolutionAttrs::kWeights)[0];
  QB_RETURN_IF_ERROR(CheckedElements(type.shape.dims()).status());
  return type;
}

}  // namespace qb
