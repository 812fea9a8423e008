#include "core/ops/convolution.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/window.h"

namespace qb {
namespace {

absl::Status CheckOperands(const InferenceInput& input) {
  for (const int64_t index : {ConvolutionAttrs::kInput, ConvolutionAttrs::kWeights}) {
    if (input.shape(index).rank() != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "operand ", index, " is ", input.type(index).ToString(), "; accepted: rank 4"));
    }
  }
  const DType dtype = input.type(ConvolutionAttrs::kInput).dtype;
  if (!IsFloat(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", DTypeName(dtype), "; accepted: a float type"));
  }
  for (size_t i = 1; i < input.operands.size(); ++i) {
    if (input.operands[i]->type().dtype != dtype) {
      return absl::InvalidArgumentError(absl::StrCat("operand ", i, " is ",
                                                     input.operands[i]->type().ToString(),
                                                     "; accepted: the input's ", DTypeName(dtype)));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckChannels(const InferenceInput& input, const ConvolutionAttrs& attrs) {
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  const Shape& weights = input.shape(ConvolutionAttrs::kWeights);
  const int64_t channels = input.shape(ConvolutionAttrs::kInput)[axes.channel];
  const int64_t outputs = weights[0];
  const int64_t groups = attrs.group_number;
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("group_number ", groups, " does not divide ",
                                                   channels, " input and ", outputs,
                                                   " output channels"));
  }
  if (weights[axes.channel] != channels / groups || weights[axes.height] != attrs.h_kernel ||
      weights[axes.width] != attrs.w_kernel) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights are ", weights.ToString(), "; accepted: ", channels / groups,
                     " channels along axis ", axes.channel, " and a window of ", attrs.h_kernel,
                     "x", attrs.w_kernel));
  }
  if (input.operands.size() > ConvolutionAttrs::kBias &&
      input.shape(ConvolutionAttrs::kBias) != Shape({outputs})) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the bias is ", input.shape(ConvolutionAttrs::kBias).ToString(), "; accepted: ", outputs));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorType> InferConvolution(const InferenceInput& input) {
  const auto& attrs = input.attributes<ConvolutionAttrs>();
  QB_RETURN_IF_ERROR(CheckOperands(input));
  QB_RETURN_IF_ERROR(CheckChannels(input, attrs));
  QB_RETURN_IF_ERROR(CheckActivation(attrs.activation));
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
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
