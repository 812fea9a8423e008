#include "core/quantization/hessian/tap_products.h"

#include <algorithm>
#include <array>

#include "core/integer/kernels/wide.h"

namespace qb {
namespace {

constexpr int64_t kLanes = 8;
constexpr int64_t kRows = integer::kMostRows;
constexpr int64_t kBlocks = integer::kMostBlocks;
constexpr int64_t kWidth = kLanes * kBlocks;

int64_t BlocksOf(int64_t taps) { return (taps + kLanes - 1) / kLanes; }

// [block][pair][lane][2] of `part` of each value.
template <typename Part>
std::vector<int16_t> Packed(const TapMatrix& matrix, const Part& part) {
  const int64_t pairs = matrix.stride / 2;
  std::vector<int16_t> packed(static_cast<size_t>(BlocksOf(matrix.taps) * pairs * kLanes * 2), 0);
  for (int64_t tap = 0; tap < matrix.taps; ++tap) {
    const int16_t* row = matrix.row(tap);
    int16_t* to = packed.data() + (tap / kLanes * pairs * kLanes + tap % kLanes) * 2;
    for (int64_t pair = 0; pair < pairs; ++pair, to += kLanes * 2) {
      to[0] = static_cast<int16_t>(part(row[2 * pair]));
      to[1] = static_cast<int16_t>(part(row[2 * pair + 1]));
    }
  }
  return packed;
}

}  // namespace

void TapProducts::Add(const TapMatrix& a, const TapMatrix& b, ThreadPool& pool) {
  has_high_ = std::any_of(b.values.begin(), b.values.end(),
                          [](int16_t value) { return value > 255 || value < -255; });
  if (has_high_) {
    low_ = Packed(b, [](int32_t value) { return integer::LowByte(value); });
    high_ = Packed(b, [](int32_t value) { return integer::HighByte(value); });
  } else {
    low_ = Packed(b, [](int32_t value) { return value; });
  }
  const bool equal = &a == &b;
  pool.ParallelFor((taps_ + kRows - 1) / kRows,
                   [&](int64_t tile, int) { AddRows(tile * kRows, a, b, equal); });
}

void TapProducts::AddRows(int64_t first_row, const TapMatrix& a, const TapMatrix& b, bool equal) {
  const integer::MicroKernel micro = integer::PairMicroKernel(integer::BestKernelLevel());
  const int64_t rows = std::min(kRows, taps_ - first_row);
  const int64_t pairs = b.stride / 2;
  const int64_t columns = equal ? first_row + rows : taps_;
  constexpr int64_t kNoOffset = 0;
  std::array<int32_t, kRows * kWidth> raw;
  for (int64_t first = 0; first < columns; first += kWidth) {
    const int64_t blocks = std::min(kBlocks, BlocksOf(taps_ - first));
    std::array<int64_t, kRows * kWidth> totals{};
    integer::MicroTile tile;
    for (int64_t r = 0; r < rows; ++r) {
      tile.pixels[r] = a.row(first_row + r);
    }
    tile.segment_offsets = &kNoOffset;
    tile.segments = 1;
    tile.segment_quads = pairs;
    tile.block_stride = pairs * kLanes * 2;
    tile.raw = raw.data();
    tile.raw_stride = kWidth;
    tile.weights = low_.data() + first * pairs * 2;
    integer::AddProducts(micro, tile, {rows, blocks}, 1, totals.data());
    if (has_high_) {
      tile.weights = high_.data() + first * pairs * 2;
      integer::AddProducts(micro, tile, {rows, blocks}, 256, totals.data());
    }
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t row = first_row + r;
      const int64_t end = std::min(first + blocks * kLanes, equal ? row + 1 : taps_);
      for (int64_t column = first; column < end; ++column) {
        const auto total =
            static_cast<double>(totals[static_cast<size_t>(r * kWidth + column - first)]);
        sums_[static_cast<size_t>(row * taps_ + column)] += total;
        if (equal && column < row) {
          sums_[static_cast<size_t>(column * taps_ + row)] += total;
        }
      }
    }
  }
}

namespace {

// A place of the kernel over some values; `x` is that of the first output position of the row.
struct Tap {
  const int16_t* values = nullptr;
  int64_t y = 0, x = 0;
};

// Adds the products of two taps of one row of output positions, channel by channel.
void AddRow(const WindowGeometry& geometry, const Tap& first, const Tap& second,
            std::vector<int64_t>& totals) {
  const auto outside = [](int64_t place, int64_t extent) { return place < 0 || place >= extent; };
  if (outside(first.y, geometry.rows) || outside(second.y, geometry.rows)) {
    return;
  }
  const int64_t channels = geometry.channels;
  int64_t* total = totals.data();
  for (int64_t ox = 0; ox < geometry.out_columns; ++ox) {
    const int64_t x1 = ox * geometry.stride_w + first.x;
    const int64_t x2 = ox * geometry.stride_w + second.x;
    if (outside(x1, geometry.columns) || outside(x2, geometry.columns)) {
      continue;
    }
    const int16_t* p = first.values + (first.y * geometry.columns + x1) * channels;
    const int16_t* q = second.values + (second.y * geometry.columns + x2) * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const int32_t product = int32_t{p[c]} * int32_t{q[c]};
      total[c] += product;
    }
  }
}

}  // namespace

void AddDepthwiseProducts(const WindowGeometry& geometry, const std::vector<int16_t>& a,
                          const std::vector<int16_t>& b, std::vector<double>& sums) {
  const int64_t taps = geometry.kernel_h * geometry.kernel_w;
  const bool equal = &a == &b;
  std::vector<int64_t> totals(static_cast<size_t>(geometry.channels));
  for (int64_t i = 0; i < taps; ++i) {
    for (int64_t j = 0; j < (equal ? i + 1 : taps); ++j) {
      std::fill(totals.begin(), totals.end(), 0);
      for (int64_t oy = 0; oy < geometry.out_rows; ++oy) {
        const int64_t top = oy * geometry.stride_h - geometry.pad_top;
        const auto tap = [&](const std::vector<int16_t>& values, int64_t k) {
          return Tap{values.data(), top + k / geometry.kernel_w * geometry.dilation_h,
                     k % geometry.kernel_w * geometry.dilation_w - geometry.pad_left};
        };
        AddRow(geometry, tap(a, i), tap(b, j), totals);
      }
      for (int64_t c = 0; c < geometry.channels; ++c) {
        const auto total = static_cast<double>(totals[static_cast<size_t>(c)]);
        sums[static_cast<size_t>((c * taps + i) * taps + j)] += total;
        if (equal && j < i) {
          sums[static_cast<size_t>((c * taps + j) * taps + i)] += total;
        }
      }
    }
  }
}

}  // namespace qb
