// Sums of products of what two taps meet: the second moments of a layer's input.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/thread_pool.h"
#include "core/calibration/window_sums.h"
#include "core/quantization/hessian/tap_matrix.h"

namespace qb {

// sums[i, j] += sum over positions of a[i] * b[j], for all pairs of taps. Products are integers and
// are added as such; the totals are exact below 2^53, so neither order nor threads matter.
class TapProducts {
 public:
  explicit TapProducts(int64_t taps) : taps_(taps), sums_(static_cast<size_t>(taps * taps), 0.0) {}

  // Equal matrices (the same object) cost half.
  void Add(const TapMatrix& a, const TapMatrix& b, ThreadPool& pool);

  // Row-major [taps, taps].
  std::vector<double>& sums() { return sums_; }

 private:
  void AddRows(int64_t first_row, const TapMatrix& a, const TapMatrix& b, bool equal);

  int64_t taps_;
  std::vector<double> sums_;
  // The bytes of `b` in the order of the kernels: [block of 8 taps][pair of positions][8][2].
  std::vector<int16_t> low_, high_;
  bool has_high_ = false;
};

// The same for a depthwise convolution: sums[channel][i, j] for the taps i, j of each channel. `a`
// and `b` are inputs [rows, columns, channels] as in UnfoldTaps.
void AddDepthwiseProducts(const WindowGeometry& geometry, const std::vector<int16_t>& a,
                          const std::vector<int16_t>& b, std::vector<double>& sums);

}  // namespace qb
