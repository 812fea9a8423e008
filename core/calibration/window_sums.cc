#include "core/calibration/window_sums.h"

#include <algorithm>
#include <cmath>

#include "core/base/check.h"

namespace qb {
namespace {

constexpr int64_t kFloatRun = 256;

// For one input row: column sums under each kx, [kernel_w, channels].
class RowSums {
 public:
  explicit RowSums(const WindowGeometry& geometry)
      : geometry_(geometry),
        sums_(static_cast<size_t>(geometry.kernel_w * geometry.channels)),
        partial_(static_cast<size_t>(geometry.channels)) {}

  const std::vector<double>& Of(const float* row) {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (int64_t kx = 0; kx < geometry_.kernel_w; ++kx) {
      AddTap(row, kx, sums_.data() + kx * geometry_.channels);
    }
    return sums_;
  }

 private:
  void AddTap(const float* row, int64_t kx, double* out) {
    const int64_t channels = geometry_.channels;
    const int64_t first = kx * geometry_.dilation_w - geometry_.pad_left;
    int64_t run = 0;
    std::fill(partial_.begin(), partial_.end(), 0.0f);
    for (int64_t ox = 0; ox < geometry_.out_columns; ++ox) {
      const int64_t x = first + ox * geometry_.stride_w;
      if (x < 0 || x >= geometry_.columns) {
        continue;
      }
      const float* source = row + x * channels;
      float* partial = partial_.data();
      for (int64_t c = 0; c < channels; ++c) {
        partial[c] += source[c];
      }
      if (++run == kFloatRun) {
        Flush(out);
        run = 0;
      }
    }
    Flush(out);
  }

  void Flush(double* out) {
    for (size_t c = 0; c < partial_.size(); ++c) {
      out[c] += static_cast<double>(partial_[c]);
      partial_[c] = 0.0f;
    }
  }

  const WindowGeometry& geometry_;
  std::vector<double> sums_;
  std::vector<float> partial_;
};

}  // namespace

std::vector<double> WindowSums(const WindowGeometry& geometry, absl::Span<const float> input) {
  QB_CHECK(static_cast<int64_t>(input.size()) ==
           geometry.rows * geometry.columns * geometry.channels);
  std::vector<double> sums(static_cast<size_t>(geometry.taps()), 0.0);
  RowSums rows(geometry);
  const int64_t row_taps = geometry.kernel_w * geometry.channels;
  for (int64_t y = 0; y < geometry.rows; ++y) {
    // Which ky meet this row, at which output row.
    const std::vector<double>* row_sums = nullptr;
    for (int64_t ky = 0; ky < geometry.kernel_h; ++ky) {
      const int64_t offset = y + geometry.pad_top - ky * geometry.dilation_h;
      if (offset < 0 || offset % geometry.stride_h != 0 ||
          offset / geometry.stride_h >= geometry.out_rows) {
        continue;
      }
      if (row_sums == nullptr) {
        row_sums = &rows.Of(input.data() + y * geometry.columns * geometry.channels);
      }
      double* out = sums.data() + ky * row_taps;
      for (int64_t i = 0; i < row_taps; ++i) {
        out[i] += (*row_sums)[static_cast<size_t>(i)];
      }
    }
  }
  return sums;
}

void OrderFreeSums::Add(absl::Span<const double> values) {
  QB_CHECK(values.size() == sums_.size());
  constexpr double kLimit = 0x1p50;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = std::clamp(values[i], -kLimit, kLimit);
    sums_[i] += static_cast<__int128>(value * 0x1p64);
  }
}

std::vector<double> OrderFreeSums::Result() const {
  std::vector<double> result(sums_.size());
  for (size_t i = 0; i < sums_.size(); ++i) {
    result[i] = static_cast<double>(sums_[i]) * 0x1p-64;
  }
  return result;
}

}  // namespace qb
