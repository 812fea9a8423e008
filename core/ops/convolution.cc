#include "core/ops/convolution.h"

#include "core/base/status_macros.h"
#include "core/ops/convolution_operands.h"
#include "core/ops/window.h"

namespace qb {

absl::StatusOr<TensorType> InferConvolution(const InferenceInput& input) {
  const auto& attrs = input.attributes<ConvolutionAttrs>();
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  QB_RETURN_IF_ERROR(
      CheckConvolutionOperands(input, {axes, attrs.h_kernel, attrs.w_kernel, attrs.group_number}));
  QB_RETURN_IF_ERROR(CheckActivation(attrs.activation));
  TensorType type = input.type(ConvolutionAttrs::kInput);
  const WindowAxis rows = {attrs.h_kernel, attrs.h_stride, attrs.h_dilation, attrs.north_padding,
                           attrs.south_padding};
  const WindowAxis columns = {attrs.w_kernel, attrs.w_stride, attrs.w_dilation, attrs.west_padding,
                              attrs.east_padding};
  QB_ASSIGN_OR_RETURN(type.shape[axes.height],
                      CountWindows("h", type.shape[axes.height], rows, false));
  QB_ASSIGN_OR_RETURN(type.shape[axes.width],
                      CountWindows("w", type.shape[axes.width], columns, false));
  type.shape[axes.channel] = input.shape(ConvolutionAttrs::kWeights)[0];
  QB_RETURN_IF_ERROR(CheckedElements(type.shape.dims()).status());
  return type;
}

}  // namespace qb
