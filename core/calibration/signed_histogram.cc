#include "core/calibration/signed_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/check.h"

namespace qb {
namespace {

// Of the smallest range: bins / range is a float32 for every number of bins.
constexpr int kSmallestExponent = -100;
// Indices are computed for this many values before any is counted: the first loop vectorizes.
constexpr size_t kBlock = 512;

int ExponentAbove(float magnitude) {
  // frexp: magnitude = f * 2^e with f in [0.5, 1), so 2^e is above it.
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::max(exponent, kSmallestExponent);
}

inline __attribute__((always_inline)) void IndicesOf(const float* values, size_t count, float scale,
                                                     int32_t* indices) {
  for (size_t i = 0; i < count; ++i) {
    const int32_t bits = std::bit_cast<int32_t>(values[i]);
    const float magnitude = std::bit_cast<float>(bits & 0x7fffffff);
    // A product with a power of two is exact, and so is the cut: the bin is that of the real
    // number.
    const int32_t bin = static_cast<int32_t>(magnitude * scale);
    indices[i] = bin ^ (bits >> 31);  // -1 - bin below zero
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void IndicesAvx2(const float* values, size_t count, float scale,
                                                 int32_t* indices) {
  IndicesOf(values, count, scale, indices);
}
#endif

void Indices(const float* values, size_t count, float scale, int32_t* indices) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) {
    IndicesAvx2(values, count, scale, indices);
    return;
  }
#endif
  IndicesOf(values, count, scale, indices);
}

// Twice the range: each bin takes the counts of the two that lie in it now.
void MergePairs(std::vector<int64_t>& counts) {
  const int64_t bins = static_cast<int64_t>(counts.size() / 2);
  int64_t* const zero = counts.data() + bins;
  const auto count = [&](int64_t bin) { return bin >= -bins && bin < bins ? zero[bin] : 0; };
  // Outwards from zero: what is read lies no nearer to it than what is written.
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t above = count(2 * i) + count(2 * i + 1);
    const int64_t below = count(-1 - 2 * i) + count(-2 - 2 * i);
    zero[i] = above;
    zero[-1 - i] = below;
  }
}

}  // namespace

SignedHistogram::SignedHistogram(int64_t bins)
    : bins_(bins), exponent_(kSmallestExponent), counts_(static_cast<size_t>(2 * bins), 0) {
  QB_CHECK(bins >= 1 && std::has_single_bit(static_cast<uint64_t>(bins)));
}

double SignedHistogram::range() const { return std::ldexp(1.0, exponent_); }

void SignedHistogram::Clear() {
  exponent_ = kSmallestExponent;
  empty_ = true;
  std::fill(counts_.begin(), counts_.end(), 0);
}

void SignedHistogram::Grow(int exponent) {
  if (empty_) {
    exponent_ = std::max(exponent_, exponent);
    empty_ = false;
    return;
  }
  for (; exponent_ < exponent; ++exponent_) {
    MergePairs(counts_);
  }
}

void SignedHistogram::Add(absl::Span<const float> values, float largest) {
  Grow(ExponentAbove(largest));
  const float scale = std::ldexp(static_cast<float>(bins_), -exponent_);
  int64_t* const zero = counts_.data() + bins_;
  int32_t indices[kBlock];
  for (size_t begin = 0; begin < values.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, values.size() - begin);
    Indices(values.data() + begin, count, scale, indices);
    for (size_t i = 0; i < count; ++i) {
      ++zero[indices[i]];
    }
  }
}

void SignedHistogram::Merge(const SignedHistogram& other) {
  QB_CHECK(bins_ == other.bins_);
  Grow(other.exponent_);
  // Bins of the other, merged as far as its range is smaller.
  const int shift = exponent_ - other.exponent_;
  for (int64_t i = 0; i < bins_; ++i) {
    const int64_t to = shift > 62 ? 0 : i >> shift;
    counts_[static_cast<size_t>(bins_ + to)] += other.counts_[static_cast<size_t>(bins_ + i)];
    counts_[static_cast<size_t>(bins_ - 1 - to)] +=
        other.counts_[static_cast<size_t>(bins_ - 1 - i)];
  }
}

}  // namespace qb
