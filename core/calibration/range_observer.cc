#include "core/calibration/range_observer.h"

#include <algorithm>

#include "core/base/check.h"

namespace qb {
namespace {

// Values that are looked at several times while they are in the cache.
constexpr size_t kChunk = 8192;

bool HasTails(const RangePolicy& policy) {
  return policy.kind == RangePolicy::Kind::kPool || policy.kind == RangePolicy::Kind::kCounts;
}

MagnitudeSide SideOf(const RangePolicy& policy, size_t index) {
  if (!policy.two_sided) {
    return MagnitudeSide::kBoth;
  }
  return index == 0 ? MagnitudeSide::kPositive : MagnitudeSide::kNegative;
}

}  // namespace

RangeObserver::RangeObserver(RangePolicy policy)
    : policy_(policy), sides_(policy.two_sided ? 2 : 1) {
  QB_CHECK(policy.rank >= 1 && policy.most_a_sample >= 1);
  if (HasTails(policy)) {
    const auto kind = policy.kind == RangePolicy::Kind::kPool ? MagnitudeTail::Kind::kPool
                                                              : MagnitudeTail::Kind::kCounts;
    for (size_t side = 0; side < sides_; ++side) {
      tails_.emplace_back(kind, SideOf(policy, side), policy.rank);
    }
  }
  if (policy.kind == RangePolicy::Kind::kHistogram) {
    histogram_.emplace(policy.bins);
  }
}

Extremes RangeObserver::Scan(absl::Span<const float> values, ObserverScratch& scratch) const {
  const bool pools = policy_.kind == RangePolicy::Kind::kPool;
  if (pools) {
    for (size_t side = 0; side < sides_; ++side) {
      scratch.top[side].Reset(SideOf(policy_, side), floors_[side].load(std::memory_order_relaxed),
                              std::min(policy_.rank, policy_.most_a_sample));
    }
  }
  Extremes all;
  for (size_t begin = 0; begin < values.size() && all.finite; begin += kChunk) {
    const absl::Span<const float> chunk = values.subspan(begin, kChunk);
    const Extremes extremes = FindExtremes(chunk);
    all.min = std::min(all.min, extremes.min);
    all.max = std::max(all.max, extremes.max);
    all.finite = extremes.finite;
    for (size_t side = 0; pools && side < sides_; ++side) {
      scratch.top[side].Add(chunk);
    }
  }
  return all;
}

bool RangeObserver::Observe(absl::Span<const float> values, ObserverScratch& scratch) {
  const Extremes extremes = Scan(values, scratch);
  if (!extremes.finite) {
    return false;
  }
  if (policy_.kind == RangePolicy::Kind::kHistogram) {
    if (!scratch.histogram.has_value() || scratch.histogram->bins() != policy_.bins) {
      scratch.histogram.emplace(policy_.bins);
    }
    scratch.histogram->Clear();
    scratch.histogram->Add(values, std::max(extremes.max, -extremes.min));
  }
  absl::MutexLock lock(&mutex_);
  elements_ += static_cast<int64_t>(values.size());
  min_ = std::min(min_, extremes.min);
  max_ = std::max(max_, extremes.max);
  for (size_t side = 0; side < tails_.size(); ++side) {
    if (policy_.kind == RangePolicy::Kind::kPool) {
      floors_[side].store(tails_[side].Merge(scratch.top[side].Take()), std::memory_order_relaxed);
    } else {
      tails_[side].Count(values);
    }
  }
  if (histogram_.has_value()) {
    histogram_->Merge(*scratch.histogram);
  }
  return true;
}

void RangeObserver::ChooseFromTails(TensorStatistics& statistics) const {
  if (!policy_.two_sided) {
    // Empty when all values are zero: a tail holds what is above zero.
    const auto tail = tails_[0].Falling(statistics.largest_magnitude());
    if (!tail.empty()) {
      const ClipChoice choice = ChooseClip(tail, {elements_, policy_.levels});
      statistics.threshold = choice.threshold;
      statistics.above_threshold = choice.above;
    }
    return;
  }
  const auto positive = tails_[0].Falling(max_);
  const auto negative = tails_[1].Falling(-min_);
  // Each end depends on the other by the step; the second round rarely changes anything.
  ClipChoice high{max_, 0}, low{-min_, 0};
  for (int round = 0; round < 2; ++round) {
    if (!positive.empty()) {
      high = ChooseClip(positive, {elements_, policy_.levels, low.threshold});
    }
    if (!negative.empty()) {
      low = ChooseClip(negative, {elements_, policy_.levels, high.threshold});
    }
  }
  statistics.low = -low.threshold;
  statistics.high = high.threshold;
  statistics.above_threshold = low.above + high.above;
}

void RangeObserver::ChooseFromHistogram(TensorStatistics& statistics) const {
  HistogramRequest request;
  request.objective = policy_.objective;
  request.percentile = policy_.percentile;
  request.levels = policy_.levels;
  request.two_sided = policy_.two_sided;
  request.min = min_;
  request.max = max_;
  const CodeEnds ends = ChooseEnds(*histogram_, request);
  if (policy_.two_sided) {
    statistics.low = static_cast<float>(ends.low);
    statistics.high = static_cast<float>(ends.high);
  } else {
    statistics.threshold = static_cast<float>(ends.high);
  }
  statistics.above_threshold =
      CountBeyond(*histogram_, policy_.two_sided ? ends.low : -ends.high, ends.high);
}

TensorStatistics RangeObserver::Result() const {
  absl::MutexLock lock(&mutex_);
  TensorStatistics statistics;
  statistics.elements = elements_;
  statistics.min = min_;
  statistics.max = max_;
  statistics.threshold = statistics.largest_magnitude();
  if (policy_.two_sided) {
    statistics.low = min_;
    statistics.high = max_;
  }
  if (HasTails(policy_)) {
    ChooseFromTails(statistics);
  } else if (policy_.kind == RangePolicy::Kind::kHistogram) {
    ChooseFromHistogram(statistics);
  }
  return statistics;
}

}  // namespace qb
