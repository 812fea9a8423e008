#include "core/calibration/magnitude_tail.h"

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

MagnitudeTail::MagnitudeTail(Kind kind, MagnitudeSide side, int64_t rank)
    : kind_(kind), side_(side), rank_(rank) {
  QB_CHECK(rank >= 1);
  if (kind == Kind::kCounts) {
    counts_.assign(kBins, 0);
  }
}

uint32_t MagnitudeTail::Merge(absl::Span<const uint32_t> magnitudes) {
  pool_.insert(pool_.end(), magnitudes.begin(), magnitudes.end());
  const size_t rank = static_cast<size_t>(rank_);
  if (pool_.size() < rank) {
    return 0;
  }
  const auto last = pool_.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(pool_.begin(), last, pool_.end(), std::greater<>());
  pool_.resize(rank);
  return pool_.back();
}

void MagnitudeTail::Count(absl::Span<const float> values) {
  for (const float value : values) {
    const int32_t magnitude = MagnitudeOf(std::bit_cast<uint32_t>(value), side_);
    counts_[static_cast<size_t>(std::max(magnitude, 0)) >> kBinShift] += magnitude > 0 ? 1 : 0;
  }
}

std::vector<MagnitudeCount> MagnitudeTail::Falling(float largest) const {
  std::vector<MagnitudeCount> tail;
  if (kind_ == Kind::kPool) {
    std::vector<uint32_t> sorted = pool_;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const uint32_t magnitude : sorted) {
      tail.push_back({std::bit_cast<float>(magnitude), 1});
    }
    return tail;
  }
  int64_t above = 0;
  for (size_t bin = kBins; bin-- > 0 && above < rank_;) {
    if (counts_[bin] > 0) {
      tail.push_back({std::min(LargestOfBin(bin), largest), counts_[bin]});
      above += counts_[bin];
    }
  }
  return tail;
}

}  // namespace qb
