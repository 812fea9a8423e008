#include "core/calibration/clip_choice.h"

#include <limits>

#include "core/base/check.h"

namespace qb {

ClipChoice ChooseClip(const std::vector<MagnitudeCount>& tail, int64_t elements, int levels) {
  QB_CHECK(!tail.empty());
  const double rounding =
      static_cast<double>(elements) / (12.0 * static_cast<double>(levels) * levels);
  ClipChoice best;
  double least = std::numeric_limits<double>::infinity();
  double sum = 0.0, sum_squares = 0.0, count = 0.0;  // of the magnitudes above the candidate
  int64_t above = 0;
  for (const MagnitudeCount& entry : tail) {
    const double t = entry.magnitude;
    const double clipped = sum_squares - 2.0 * t * sum + count * t * t;
    const double cost = clipped + rounding * t * t;
    if (cost < least) {
      least = cost;
      best = {entry.magnitude, above};
    }
    const double weight = static_cast<double>(entry.count);
    sum += weight * t;
    sum_squares += weight * t * t;
    count += weight;
    above += entry.count;
  }
  return best;
}

}  // namespace qb
