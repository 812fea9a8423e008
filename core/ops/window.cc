#include "core/ops/window.h"

#include <tuple>

#include "absl/strings/str_cat.h"

namespace qb {
namespace {

absl::Status CheckRange(absl::string_view axis_name, absl::string_view what, int64_t value,
                        int64_t least) {
  if (value < least || value > kMostWindowElements) {
    return absl::InvalidArgumentError(absl::StrCat(
        axis_name, "_", what, " is ", value, "; accepted: ", least, " to ", kMostWindowElements));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckWindow(absl::string_view axis_name, const WindowAxis& window) {
  for (const auto& [what, value, least] :
       {std::tuple<absl::string_view, int64_t, int64_t>{"kernel", window.kernel, 1},
        {"stride", window.stride, 1},
        {"dilation", window.dilation, 1},
        {"padding (begin)", window.begin_padding, 0},
        {"padding (end)", window.end_padding, 0}}) {
    if (absl::Status status = CheckRange(axis_name, what, value, least); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> CountWindows(absl::string_view axis_name, int64_t dim,
                                     const WindowAxis& window, bool ceil_mode) {
  if (absl::Status status = CheckWindow(axis_name, window); !status.ok()) {
    return status;
  }
  const int64_t extent = window.dilation * (window.kernel - 1) + 1;
  const int64_t padded = dim + window.begin_padding + window.end_padding;
  if (extent > padded) {
    return absl::InvalidArgumentError(absl::StrCat("a window of ", extent, " elements along ",
                                                   axis_name, " does not fit into ", padded, " (",
                                                   dim, " and padding)"));
  }
  const int64_t travel = padded - extent;
  int64_t windows = travel / window.stride + 1;
  if (ceil_mode && travel % window.stride != 0 &&
      windows * window.stride < dim + window.begin_padding) {
    ++windows;
  }
  return windows;
}

}  // namespace qb
