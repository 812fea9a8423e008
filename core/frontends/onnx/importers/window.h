// The sliding window that convolution and pooling share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/frontends/onnx/node_importer.h"

namespace qb::onnx_import {

// Depth, height and width; in elements. Axes that an operator lacks have the neutral values.
struct Window {
  static constexpr size_t kDepth = 0, kHeight = 1, kWidth = 2, kAxes = 3;
  int64_t kernel[kAxes] = {1, 1, 1};
  int64_t stride[kAxes] = {1, 1, 1};
  int64_t dilation[kAxes] = {1, 1, 1};
  int64_t begin[kAxes] = {0, 0, 0};
  int64_t end[kAxes] = {0, 0, 0};
};

// Reads strides, dilations, pads and auto_pad. `kernel` has one entry for each spatial dimension of
// `input` ([N, C, L] to [N, C, D, H, W]); SAME paddings are computed from the input's size.
// Errors: InvalidArgument for wrong counts and for values outside [1, 2^24] (paddings [0, 2^24]).
absl::StatusOr<Window> ReadWindow(NodeImporter& node, const Shape& input,
                                  const std::vector<int64_t>& kernel);

// [N, C, L] -> [N, C, 1, L]; a rank of 4 stays. Errors: Unimplemented for rank 5 ("3-D"),
// InvalidArgument for other ranks.
absl::StatusOr<Node*> AsImage(NodeImporter& node, absl::string_view role, Node* input);

// Adds the operator and, when `source` had rank 3, the way back to [N, M, L].
absl::Status FinishImage(NodeImporter& node, const Node* source, OpKind kind,
                         absl::Span<Node* const> operands, std::unique_ptr<Attributes> attrs);

// Copies the window into the fields that ConvolutionAttrs and PoolingAttrs share.
template <typename A>
void SetWindow(const Window& window, A& attrs) {
  attrs.h_kernel = window.kernel[Window::kHeight];
  attrs.w_kernel = window.kernel[Window::kWidth];
  attrs.h_stride = window.stride[Window::kHeight];
  attrs.w_stride = window.stride[Window::kWidth];
  attrs.h_dilation = window.dilation[Window::kHeight];
  attrs.w_dilation = window.dilation[Window::kWidth];
  attrs.north_padding = window.begin[Window::kHeight];
  attrs.south_padding = window.end[Window::kHeight];
  attrs.west_padding = window.begin[Window::kWidth];
  attrs.east_padding = window.end[Window::kWidth];
}

}  // namespace qb::onnx_import
