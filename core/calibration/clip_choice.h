// Where to clip: between the percentile and the maximum.
#pragma once

#include <cstdint>
#include <vector>

namespace qb {

struct MagnitudeCount {
  float magnitude = 0.0f;
  int64_t count = 0;
};

struct ClipChoice {
  float threshold = 0.0f;
  int64_t above = 0;  // elements with a larger magnitude
};

struct ClipCost {
  int64_t elements = 0;    // that are rounded
  int levels = 127;        // steps between the ends of the codes
  double other_end = 0.0;  // how far the codes reach beyond zero on the other side
};

// The entry of `tail` at which clipping costs least. `tail` has the largest magnitudes in falling
// order and ends at the percentile: nothing below it is ever chosen. Clipping at t costs
//
//   4 * sum over larger x of (x - t)^2  +  elements * ((t + other_end) / levels)^2 / 12,
//
// what the clipped elements lose, weighted, and what rounding at that step adds to all of them. A
// percentile alone costs accuracy where the tail is long but real. Precondition: tail is not empty.
ClipChoice ChooseClip(const std::vector<MagnitudeCount>& tail, const ClipCost& cost);

}  // namespace qb
