// How a value is held in codes.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

#include "core/ir/dtype.h"
#include "core/ir/node.h"

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
  // The scale is times these along one axis, the last one of values that layers read; empty: one
  // scale for all.
  std::vector<float> channel_factors;
  // In place of zero_point, as many as the factors; empty: that one for all. Only of values on the
  // way to an output (output_steps.h), and so is another axis than the last one (-1).
  std::vector<int32_t> channel_zero_points;
  int64_t channel_axis = -1;

  bool operator==(const ValueScale& other) const {
    return dtype == other.dtype && scale == other.scale && zero_point == other.zero_point &&
           channel_factors == other.channel_factors &&
           channel_zero_points == other.channel_zero_points && channel_axis == other.channel_axis;
  }
};

// How the codes of a model's outputs come together (output_steps.h).
struct OutputMoves {
  // Whether `value` is made of the codes of its operand as they are.
  bool Copies(const Node* value, const Node* operand) const {
    return members.contains(value) && members.contains(operand);
  }

  absl::flat_hash_set<const Node*> members;  // writers and what moves their codes
  // The scale in which a member reads an operand that is none, by reader and operand number.
  std::map<std::pair<const Node*, int64_t>, ValueScale> outside;
};

struct ValueScales {
  absl::flat_hash_map<const Node*, ValueScale> held;  // of every planned value
  // What layers that take 8 bits read of the values that are held in 16.
  absl::flat_hash_map<const Node*, ValueScale> narrow;
  OutputMoves outputs;
};

}  // namespace qb
