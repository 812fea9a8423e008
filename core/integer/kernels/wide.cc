#include "core/integer/kernels/wide.h"

#include <algorithm>

namespace qb::integer {
namespace {

constexpr int64_t kPair = 2;
constexpr int64_t kLanes = 8;

}  // namespace

void AddProducts(MicroKernel micro, const MicroTile& tile, TileExtent extent, int64_t factor,
                 int64_t* sums) {
  const auto [rows, blocks] = extent;
  // Whole segments while they are short, else pieces of one.
  const int64_t quads = std::min(tile.segment_quads, kMostWidePairs);
  const int64_t segments = std::max<int64_t>(1, kMostWidePairs / tile.segment_quads);
  const int16_t* weights = static_cast<const int16_t*>(tile.weights);
  for (int64_t s = 0; s < tile.segments; s += segments) {
    for (int64_t q = 0; q < tile.segment_quads; q += quads) {
      MicroTile part = tile;
      part.segments = std::min(segments, tile.segments - s);
      part.segment_quads = std::min(quads, tile.segment_quads - q);
      part.segment_offsets = tile.segment_offsets + s;
      part.weights = weights + (s * tile.segment_quads + q) * kPair * kLanes;
      for (int64_t r = 0; r < rows; ++r) {
        part.pixels[r] = static_cast<const int16_t*>(tile.pixels[r]) + q * kPair;
      }
      micro(part, rows, blocks);
      for (int64_t r = 0; r < rows; ++r) {
        const int32_t* raw = tile.raw + r * tile.raw_stride;
        int64_t* sum = sums + r * tile.raw_stride;
        for (int64_t lane = 0; lane < blocks * kLanes; ++lane) {
          sum[lane] += factor * raw[lane];
        }
      }
    }
  }
}

}  // namespace qb::integer
