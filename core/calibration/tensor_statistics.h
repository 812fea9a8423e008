// What one pass over the calibration samples learns about a tensor.
#pragma once

#include <cstdint>
#include <vector>

namespace qb {

struct TensorStatistics {
  int64_t elements = 0;  // of all samples together
  float min = 0.0f, max = 0.0f;
  // The magnitude that the calibration mode chose: codes cover [-threshold, threshold].
  float threshold = 0.0f;
  // Where both ends were asked for: low <= 0 <= high, and codes cover [low, high].
  float low = 0.0f, high = 0.0f;
  // Elements outside what the codes cover.
  int64_t above_threshold = 0;

  float largest_magnitude() const { return max > -min ? max : -min; }
  double saturation_share() const {
    return elements == 0 ? 0.0
                         : static_cast<double>(above_threshold) / static_cast<double>(elements);
  }
};

}  // namespace qb
