// TransposeConvolution: plain, grouped and depthwise, two spatial dimensions.
#pragma once

#include <cstdint>

#include "core/ops/activation.h"
#include "core/ops/op_def.h"

namespace qb {

// The gradient of a convolution as an operator: input pixel (h, w) and tap (kh, kw) add
// input x weight to the result at (h sh + kh dh - north, w sw + kw dw - west); what falls outside
// is dropped. Operands as those of a Convolution: input [N, C, H, W], weights [M, C / groups, Kh,
// Kw], bias [M] (optional) -> [N, M, H', W']. With channel_last: input [N, H, W, C], weights [M,
// Kh, Kw, C / groups] -> [N, H', W', M]. M are the result's channels; taps are not flipped. H' = (H
// - 1) sh + dh (Kh - 1) + 1 + south_out_padding - north - south. Source: ONNX ConvTranspose (whose
// weights are [C, M / groups, Kh, Kw]).
struct TransposeConvolutionAttrs final : AttributesOf<TransposeConvolutionAttrs> {
  static constexpr int64_t kInput = 0, kWeights = 1, kBias = 2;

  int64_t h_kernel = 1, w_kernel = 1;
  int64_t h_stride = 1, w_stride = 1;
  int64_t h_dilation = 1, w_dilation = 1;
  // Rows and columns that the result lacks at its border, and those that it has in addition.
  int64_t north_padding = 0, south_padding = 0, west_padding = 0, east_padding = 0;
  int64_t south_out_padding = 0, east_out_padding = 0;
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
    visit("south_out_padding", self.south_out_padding);
    visit("east_out_padding", self.east_out_padding);
    visit("group_number", self.group_number);
    visit("channel_last", self.channel_last);
    Activation::VisitFields(self.activation, visit);
  }
};

absl::StatusOr<TensorType> InferTransposeConvolution(const InferenceInput& input);

}  // namespace qb
