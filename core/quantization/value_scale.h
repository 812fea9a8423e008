// How a value is held in codes.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ir/dtype.h"

namespace qb {

// Type, scale and zero point of one value, and where they come from.
struct ValueScale {
  DType dtype = DType::kInt8;  // or kInt16, with zero point 0
  float scale = 1.0f;
  // -128: the value is never negative and has all 256 codes; else 0, with methods 2 and 3 where
  // zero lies in [low, high] of calibration.
  int32_t zero_point = 0;
  double threshold = 0.0;  // the magnitude at the end of the codes
  double largest_seen = 0.0;
  double saturation_share = 0.0;  // of the calibration's elements
  // The scale is times these along the last axis; empty: one scale for all.
  std::vector<float> channel_factors;

  bool operator==(const ValueScale& other) const {
    return dtype == other.dtype && scale == other.scale && zero_point == other.zero_point &&
           channel_factors == other.channel_factors;
  }
};

}  // namespace qb
