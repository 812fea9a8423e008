// Windowed pooling over two spatial dimensions, and global average pooling.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "core/ops/op_def.h"

namespace qb {

enum class PoolType { kMax, kAverage };

template <>
struct EnumNames<PoolType> {
  static constexpr auto kNames = std::to_array<std::pair<PoolType, const char*>>({
      {PoolType::kMax, "max"},
      {PoolType::kAverage, "average"},
  });
};

// Operand: [N, C, H, W] or, with channel_last, [N, H, W, C]. H' = round((H + north + south -
// dh (Kh - 1) - 1) / sh) + 1 where round is floor, or ceil with is_ceil_mode (a last window that
// would start in the south/east padding is dropped, as ONNX Runtime and torch do). Average: the
// divisor counts padding only with is_include_pad (never what ceil_mode adds beyond it). Source:
// ONNX MaxPool, AveragePool.
struct PoolingAttrs final : AttributesOf<PoolingAttrs> {
  PoolType pool_type = PoolType::kMax;
  int64_t h_kernel = 1, w_kernel = 1;
  int64_t h_stride = 1, w_stride = 1;
  int64_t h_dilation = 1, w_dilation = 1;
  int64_t north_padding = 0, south_padding = 0, west_padding = 0, east_padding = 0;
  bool is_ceil_mode = false;
  bool is_include_pad = false;
  bool channel_last = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("pool_type", self.pool_type);
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
    visit("is_ceil_mode", self.is_ceil_mode);
    visit("is_include_pad", self.is_include_pad);
    visit("channel_last", self.channel_last);
  }
};

// Mean over the spatial dimensions: [N, C, H, W] -> [N, C, 1, 1]; channel_last: -> [N, 1, 1, C].
struct GlobalAveragePoolingAttrs final : AttributesOf<GlobalAveragePoolingAttrs> {
  bool channel_last = false;
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("channel_last", self.channel_last);
  }
};

absl::StatusOr<TensorType> InferPooling(const InferenceInput& input);
absl::StatusOr<TensorType> InferGlobalAveragePooling(const InferenceInput& input);

}  // namespace qb
