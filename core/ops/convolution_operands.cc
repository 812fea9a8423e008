#include "core/ops/convolution_operands.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {
namespace {

constexpr int64_t kInput = 0, kWeights = 1, kBias = 2;

absl::Status CheckTypes(const InferenceInput& input) {
  for (const int64_t index : {kInput, kWeights}) {
    if (input.shape(index).rank() != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "operand ", index, " is ", input.type(index).ToString(), "; accepted: rank 4"));
    }
  }
  const DType dtype = input.type(kInput).dtype;
  if (!IsFloat(dtype) && dtype != DType::kInt32) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", DTypeName(dtype), "; accepted: a float type or int32"));
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

absl::Status CheckChannels(const InferenceInput& input, const ConvolutionOperands& expected) {
  const ImageAxes& axes = expected.axes;
  const Shape& weights = input.shape(kWeights);
  const int64_t channels = input.shape(kInput)[axes.channel];
  const int64_t outputs = weights[0];
  const int64_t groups = expected.groups;
  if (groups < 1 || channels % groups != 0 || outputs % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat("group_number ", groups, " does not divide ",
                                                   channels, " input and ", outputs,
                                                   " output channels"));
  }
  if (weights[axes.channel] != channels / groups || weights[axes.height] != expected.h_kernel ||
      weights[axes.width] != expected.w_kernel) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights are ", weights.ToString(), "; accepted: ", channels / groups,
                     " channels along axis ", axes.channel, " and a window of ", expected.h_kernel,
                     "x", expected.w_kernel));
  }
  if (input.operands.size() > kBias && input.shape(kBias) != Shape({outputs})) {
    return absl::InvalidArgumentError(
        absl::StrCat("the bias is ", input.shape(kBias).ToString(), "; accepted: ", outputs));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckConvolutionOperands(const InferenceInput& input,
                                      const ConvolutionOperands& expected) {
  QB_RETURN_IF_ERROR(CheckTypes(input));
  return CheckChannels(input, expected);
}

}  // namespace qb
