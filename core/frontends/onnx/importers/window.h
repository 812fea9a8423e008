// The sliding window that convolution and pooling share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/frontends/onnx/node_importer.h"

namespace qb::onnx_import {

// Height and width; in elements. For 1-D operators height has the neutral values.
struct Window {
  int64_t kernel[2] = {1, 1};
  int64_t stride[2] = {1, 1};
  int64_t dilation[2] = {1, 1};
  int64_t begin[2] = {0, 0};
  int64_t end[2] = {0, 0};
};

// Reads strides, dilations, pads and auto_pad. `kernel` has one entry for each spatial dimension of
// `input` ([N, C, L] or [N, C, H, W]); SAME paddings are computed from the input's size.
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
  attrs.h_kernel = window.kernel[0];
  attrs.w_kernel = window.kernel[1];
  attrs.h_stride = window.stride[0];
  attrs.w_stride = window.stride[1];
  attrs.h_dilation = window.dilation[0];
  attrs.w_dilation = window.dilation[1];
  attrs.north_padding = window.begin[0];
  attrs.south_padding = window.end[0];
  attrs.west_padding = window.begin[1];
  attrs.east_padding = window.end[1];
}

}  // namespace qb::onnx_import
