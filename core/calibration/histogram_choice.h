// Where codes end, chosen from a histogram.
#pragma once

#include <cstdint>

#include "core/calibration/signed_histogram.h"

namespace qb {

enum class HistogramObjective {
  kMse,         // least squared error of clipping and rounding
  kKl,          // least divergence between the distributions before and after (with a guard)
  kPercentile,  // a share of the magnitudes lies inside
};

// Codes cover [low, high]; without a zero point low is -high, or 0 for values never negative.
struct CodeEnds {
  double low = 0.0, high = 0.0;
};

struct HistogramRequest {
  HistogramObjective objective = HistogramObjective::kMse;
  double percentile = 0.9999;  // of kPercentile
  int levels = 127;            // from zero to the end; of two sides from end to end
  bool two_sided = false;      // low and high are chosen apart, both with zero between them
  // What was seen, exactly: min <= 0 <= max.
  double min = 0.0, max = 0.0;
};

// kMse: among 0.30, 0.31, .. 1.00 of the extremes, then in steps of 0.002 around the best; of two
// sides first both ends together, then each alone, the upper one first.
//
// kKl: the threshold at which the magnitudes, clipped mass added to the last bin, diverge least
// from `levels` runs of bins of that part, each run's unclipped mass spread over its filled bins
// (so clipped mass has its price). A threshold that costs more than twice the squared error of no
// clipping is rejected: then the extremes stand. Two sides are clipped at one magnitude.
//
// kPercentile: the upper edge of the bin in which the percentile lies; of two sides (1 -
// percentile) / 2 lie beyond each.
//
// The result never lies beyond the extremes.
CodeEnds ChooseEnds(const SignedHistogram& histogram, const HistogramRequest& request);

// Values in bins that lie beyond [low, high] as a whole.
int64_t CountBeyond(const SignedHistogram& histogram, double low, double high);

}  // namespace qb
