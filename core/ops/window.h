// Geometry of a sliding window along one axis: shared by convolution and pooling.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace qb {

// All in elements.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t begin_padding = 0;
  int64_t end_padding = 0;
};

// Far above any real model; keeps every product of two within int64.
inline constexpr int64_t kMostWindowElements = 1 << 20;

// Errors: InvalidArgument naming `axis_name` ("h" or "w") for values outside their range.
absl::Status CheckWindow(absl::string_view axis_name, const WindowAxis& window);

// How many windows fit along an axis of `dim` elements. With `ceil_mode` a last, partial window
// counts too unless it would start in the end padding (as ONNX Runtime and torch do). Errors:
// InvalidArgument naming `axis_name` ("h" or "w") for values outside their range or a window that
// is larger than the padded axis.
absl::StatusOr<int64_t> CountWindows(absl::string_view axis_name, int64_t dim,
                                     const WindowAxis& window, bool ceil_mode);

// The axes of an image tensor of rank 4.
struct ImageAxes {
  int64_t channel;
  int64_t height;
  int64_t width;
};
constexpr ImageAxes AxesOfImage(bool channel_last) {
  return channel_last ? ImageAxes{3, 1, 2} : ImageAxes{1, 2, 3};
}

}  // namespace qb
