// What one value brings to the values that it shares a scale with.
#pragma once

namespace qb {

// What one value brings to the group of values whose scale it has.
struct GroupMember {
  double threshold = 0.0;
  double low = 0.0, high = 0.0;  // the range that codes with a zero point cover: low <= 0 <= high
  double largest_seen = 0.0;
  double saturation_share = 0.0;
  double wide_threshold = 0.0;  // for 16-bit codes
  bool non_negative = false;
  bool two_sided = false;  // the zero point follows from low and high
  bool fixed = false;      // scale 1/256, zero point -128; of 16-bit codes scale 1/32768
};

}  // namespace qb
