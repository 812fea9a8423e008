// Convolution: plain, grouped and depthwise, two spatial dimensions.
#pragma once

#include <cstdint>

#include "core/ops/activation.h"
#include "core/ops/op_def.h"

namespace qb {

// Operands: input [N, C, H, W], weights [M, C / groups, Kh, Kw], bias [M] (optional)
// -> [N, M, H', W']. With channel_last: input [N, H, W, C], weights [M, Kh, Kw, C / groups]
// -> [N, H', W', M]. Depthwise is groups == C (M may be a multiple of C).
// Strides, dilations and paddings in elements. H' = (H + north + south - dh (Kh - 1) - 1) / sh + 1.
// Source: ONNX Conv.
struct ConvolutionAttrs final : AttributesOf<ConvolutionAttrs> {
  static constexpr int64_t kInput = 0, kWeights = 1, kBias = 2;

  int64_t h_kernel = 1, w_kernel = 1;
  int64_t h_stride = 1, w_stride = 1;
  int64_t h_dilation = 1, w_dilation = 1;
  int64_t north_padding = 0, south_padding = 0, west_padding = 0, east_padding = 0;
  int64_t group_number = 1;
  bool channel_last = false;
  Activation activation;

  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("h_kernel", self.h_kernel);
    visit("w_kernel", self.w_kernel);
    visit("h_stride", self.h_stride);
    visit("w_stride", self.w_stride);
    visit("h_dilation", self.h_dilation);
    visit("w_dilation", self.w_dilation);
    visit("north_padding", self.north_padding);
    visit("south_padding", self.south_padding);
    visit("west_padding", self.west_padding);
    visit("east_padding", self.east_padding);
    visit("group_number", self.group_number);
    visit("channel_last", self.channel_last);
    Activation::VisitFields(self.activation, visit);
  }
};

absl::StatusOr<TensorType> InferConvolution(const InferenceInput& input);

}  // namespace qb
