// Counts of values in bins of equal width, in one pass and without knowing the range before.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace qb {

// 2 x bins counts over (-range, range), where `range` is the smallest power of two above every
// magnitude seen. A value that needs a larger range merges bins in pairs, which gives the counts
// that the larger range would have given from the start: the result is a function of the set of
// values, whatever their order and however they were split.
class SignedHistogram {
 public:
  // `bins` on each side of zero: a power of two, at most 2^20.
  explicit SignedHistogram(int64_t bins);

  // Adds finite values; `largest` is their largest magnitude.
  void Add(absl::Span<const float> values, float largest);
  void Merge(const SignedHistogram& other);  // of as many bins
  void Clear();

  int64_t bins() const { return bins_; }
  double range() const;
  double bin_width() const { return range() / static_cast<double>(bins_); }
  // Values in [i, i + 1) * bin_width for i >= 0, in [i, i + 1) * bin_width for i < 0 but with the
  // upper end instead of the lower one; i in [-bins, bins).
  int64_t count(int64_t i) const { return counts_[static_cast<size_t>(i + bins_)]; }

 private:
  void Grow(int exponent);

  int64_t bins_;
  int exponent_;  // range = 2^exponent
  bool empty_ = true;
  std::vector<int64_t> counts_;
};

}  // namespace qb
