#include "core/ops/pooling.h"

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/ops/window.h"

namespace qb {
namespace {

absl::Status CheckImage(const InferenceInput& input) {
  if (input.shape(0).rank() != 4 || !IsFloat(input.type(0).dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("the input is ", input.type(0).ToString(),
                                                   "; accepted: a float type of rank 4"));
  }
  return absl::OkStatus();
}

// Padding as wide as the window would give windows without any element of the input.
absl::Status CheckPadding(absl::string_view axis_name, const WindowAxis& window) {
  const int64_t extent = window.dilation * (window.kernel - 1) + 1;
  if (window.begin_padding >= extent || window.end_padding >= extent) {
    return absl::InvalidArgumentError(absl::StrCat(axis_name, " padding (", window.begin_padding,
                                                   ", ", window.end_padding,
                                                   ") is not smaller than the window of ", extent));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorType> InferPooling(const InferenceInput& input) {
  const auto& attrs = input.attributes<PoolingAttrs>();
  QB_RETURN_IF_ERROR(CheckImage(input));
  const ImageAxes axes = AxesOfImage(attrs.channel_last);
  TensorType type = input.type(0);
  const WindowAxis rows = {attrs.h_kernel, attrs.h_stride, attrs.h_dilation, attrs.north_padding,
                           attrs.south_padding};
  const WindowAxis columns = {attrs.w_kernel, attrs.w_stride, attrs.w_dilation, attrs.west_padding,
                              attrs.east_padding};
  QB_ASSIGN_OR_RETURN(type.shape[axes.height],
                      CountWindows("h", type.shape[axes.height], rows, attrs.is_ceil_mode));
  QB_ASSIGN_OR_RETURN(type.shape[axes.width],
                      CountWindows("w", type.shape[axes.width], columns, attrs.is_ceil_mode));
  QB_RETURN_IF_ERROR(CheckPadding("h", rows));
  QB_RETURN_IF_ERROR(CheckPadding("w", columns));
  QB_RETURN_IF_ERROR(CheckedElements(type.shape.dims()).status());
  return type;
}

absl::StatusOr<TensorType> InferGlobalAveragePooling(const InferenceInput& input) {
  QB_RETURN_IF_ERROR(CheckImage(input));
  const ImageAxes axes = AxesOfImage(input.attributes<GlobalAveragePoolingAttrs>().channel_last);
  TensorType type = input.type(0);
  if (type.shape[axes.height] == 0 || type.shape[axes.width] == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("the input is ", type.ToString(), "; accepted: at least one pixel"));
  }
  type.shape[axes.height] = 1;
  type.shape[axes.width] = 1;
  return type;
}

}  // namespace qb
