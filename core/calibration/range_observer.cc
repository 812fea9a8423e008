#include "core/calibration/range_observer.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "core/base/check.h"

namespace qb {
namespace {

// A magnitude's bin is its upper 16 bits: sign dropped, 8 exponent and 8 fraction bits.
constexpr int kBinShift = 15;
constexpr size_t kBins = size_t{1} << 16;

float LargestOfBin(size_t bin) {
  return std::bit_cast<float>(static_cast<uint32_t>((bin + 1) << kBinShift) - 1);
}

}  // namespace

RangeObserver::RangeObserver(RangePolicy policy) : policy_(policy) {
  QB_CHECK(policy.rank >= 1 && policy.most_a_sample >= 1);
  if (policy.kind == RangePolicy::Kind::kHistogram) {
    counts_.assign(kBins, 0);
  }
}

bool RangeObserver::Observe(absl::Span<const float> values, TopMagnitudes& scratch) {
  const Extremes extremes = FindExtremes(values);
  if (!extremes.finite) {
    return false;
  }
  absl::Span<const uint32_t> largest;
  if (policy_.kind == RangePolicy::Kind::kPool) {
    scratch.Reset(floor_.load(std::memory_order_relaxed),
                  std::min(policy_.rank, policy_.most_a_sample));
    scratch.Add(values);
    largest = scratch.Take();
  }
  absl::MutexLock lock(&mutex_);
  elements_ += static_cast<int64_t>(values.size());
  min_ = std::min(min_, extremes.min);
  max_ = std::max(max_, extremes.max);
  if (policy_.kind == RangePolicy::Kind::kPool) {
    MergePool(largest);
  } else if (policy_.kind == RangePolicy::Kind::kHistogram) {
    CountMagnitudes(values);
  }
  return true;
}

void RangeObserver::MergePool(absl::Span<const uint32_t> magnitudes) {
  pool_.insert(pool_.end(), magnitudes.begin(), magnitudes.end());
  const size_t rank = static_cast<size_t>(policy_.rank);
  if (pool_.size() >= rank) {
    const auto last = pool_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(pool_.begin(), last, pool_.end(), std::greater<>());
    pool_.resize(rank);
    floor_.store(pool_.back(), std::memory_order_relaxed);
  }
}

void RangeObserver::CountMagnitudes(absl::Span<const float> values) {
  for (const float value : values) {
    ++counts_[(std::bit_cast<uint32_t>(value) & kMagnitudeMask) >> kBinShift];
  }
}

std::vector<MagnitudeCount> RangeObserver::Tail() const {
  std::vector<MagnitudeCount> tail;
  if (policy_.kind == RangePolicy::Kind::kPool) {
    std::vector<uint32_t> sorted = pool_;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const uint32_t magnitude : sorted) {
      tail.push_back({std::bit_cast<float>(magnitude), 1});
    }
    return tail;
  }
  int64_t above = 0;
  const float largest = std::max(max_, -min_);
  for (size_t bin = kBins; bin-- > 0 && above < policy_.rank;) {
    if (counts_[bin] > 0) {
      tail.push_back({std::min(LargestOfBin(bin), largest), counts_[bin]});
      above += counts_[bin];
    }
  }
  return tail;
}

TensorStatistics RangeObserver::Result() const {
  absl::MutexLock lock(&mutex_);
  TensorStatistics statistics;
  statistics.elements = elements_;
  statistics.min = min_;
  statistics.max = max_;
  statistics.threshold = statistics.largest_magnitude();
  if (policy_.kind == RangePolicy::Kind::kMax) {
    return statistics;
  }
  // Empty when all values are zero: a pool holds what is above its floor.
  if (const std::vector<MagnitudeCount> tail = Tail(); !tail.empty()) {
    const ClipChoice choice = ChooseClip(tail, elements_, policy_.levels);
    statistics.threshold = choice.threshold;
    statistics.above_threshold = choice.above;
  }
  return statistics;
}

}  // namespace qb
