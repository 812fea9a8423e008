// RoiAlign: bins of a region, each the mean or maximum of interpolated samples.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/execute/kernels/all_kernels.h"
#include "core/execute/kernels/dtype_dispatch.h"
#include "core/ops/sampling.h"

namespace qb::execute {
namespace {

// The four pixels around a place and their weights; all weights are 0 far outside.
struct Corners {
  int64_t at[4] = {0, 0, 0, 0};
  double weight[4] = {0, 0, 0, 0};
};

Corners CornersOf(double y, double x, int64_t rows, int64_t columns) {
  Corners corners;
  if (!(y >= -1.0) || y > static_cast<double>(rows) || !(x >= -1.0) ||
      x > static_cast<double>(columns)) {
    return corners;
  }
  y = std::clamp(y, 0.0, static_cast<double>(rows - 1));
  x = std::clamp(x, 0.0, static_cast<double>(columns - 1));
  const auto top = static_cast<int64_t>(y);
  const auto left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, rows - 1);
  const int64_t right = std::min(left + 1, columns - 1);
  const double dy = y - static_cast<double>(top);
  const double dx = x - static_cast<double>(left);
  const int64_t at[4] = {top * columns + left, top * columns + right, bottom * columns + left,
                         bottom * columns + right};
  const double weight[4] = {(1 - dy) * (1 - dx), (1 - dy) * dx, dy * (1 - dx), dy * dx};
  std::copy(at, at + 4, corners.at);
  std::copy(weight, weight + 4, corners.weight);
  return corners;
}

// One axis of a region: where its bins start, and how many samples a bin has.
struct RegionAxis {
  double start = 0.0;
  double bin = 0.0;
  int64_t samples = 1;

  double Place(int64_t index, int64_t sample) const {
    return start + (static_cast<double>(index) +
                    (static_cast<double>(sample) + 0.5) / static_cast<double>(samples)) *
                       bin;
  }
};

RegionAxis AxisOf(double low, double high, int64_t bins, const RoiAlignAttrs& attrs) {
  constexpr double kMostSamples = 1 << 12;  // a region may be given as any number
  const double offset = attrs.half_pixel ? 0.5 : 0.0;
  RegionAxis axis;
  axis.start = low * static_cast<double>(attrs.spatial_scale) - offset;
  double extent = high * static_cast<double>(attrs.spatial_scale) - offset - axis.start;
  if (!attrs.half_pixel) {
    extent = std::max(extent, 1.0);
  }
  axis.bin = extent / static_cast<double>(bins);
  const double pixels = std::isnan(axis.bin) ? 1.0 : std::ceil(axis.bin);
  axis.samples = attrs.sampling_ratio > 0
                     ? attrs.sampling_ratio
                     : static_cast<int64_t>(std::clamp(pixels, 1.0, kMostSamples));
  return axis;
}

template <typename T>
struct Plane {
  const T* values;
  int64_t rows, columns;
};

struct Region {
  RegionAxis rows, columns;
};

template <typename T>
double BinValue(bool average, const Plane<T>& plane, const Region& region, int64_t row,
                int64_t column) {
  const RegionAxis& rows = region.rows;
  const RegionAxis& columns = region.columns;
  double value = 0.0;
  bool first = true;
  for (int64_t sy = 0; sy < rows.samples; ++sy) {
    for (int64_t sx = 0; sx < columns.samples; ++sx) {
      const Corners corners =
          CornersOf(rows.Place(row, sy), columns.Place(column, sx), plane.rows, plane.columns);
      double sum = 0.0;
      for (int k = 0; k < 4; ++k) {
        const double part = corners.weight[k] * static_cast<double>(plane.values[corners.at[k]]);
        // The maximum is over the weighted pixels, not over the samples.
        sum = average || k == 0 ? sum + part : std::max(sum, part);
      }
      value = average || first ? value + sum : std::max(value, sum);
      first = false;
    }
  }
  const auto samples = static_cast<double>(rows.samples * columns.samples);
  return average ? value / samples : value;
}

template <typename T>
absl::Status Align(const RoiAlignAttrs& attrs, const Shape& x, const Shape& y,
                   const KernelArgs& args) {
  const T* rois = args.operand<T>(1);
  const int64_t* batch = args.operand<int64_t>(2);
  T* out = args.output<T>();
  const bool average = attrs.pool_type == PoolType::kAverage;
  for (int64_t r = 0; r < y[0]; ++r, rois += 4) {
    if (batch[r] < 0 || batch[r] >= x[0]) {
      return absl::InvalidArgumentError(
          absl::StrCat("batch index ", batch[r], " of region ", r, "; accepted: 0 to ", x[0] - 1));
    }
    const Region region = {AxisOf(static_cast<double>(rois[1]), static_cast<double>(rois[3]),
                                  attrs.output_height, attrs),
                           AxisOf(static_cast<double>(rois[0]), static_cast<double>(rois[2]),
                                  attrs.output_width, attrs)};
    for (int64_t c = 0; c < y[1]; ++c) {
      const Plane<T> plane = {args.operand<T>(0) + (batch[r] * x[1] + c) * x[2] * x[3], x[2], x[3]};
      for (int64_t row = 0; row < y[2]; ++row) {
        for (int64_t column = 0; column < y[3]; ++column) {
          *out++ = static_cast<T>(BinValue(average, plane, region, row, column));
        }
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

KernelOr MakeRoiAlign(const KernelRequest& request) {
  if (request.operand_shape(0).elements() == 0) {
    return absl::InvalidArgumentError("the operand has no elements");
  }
  return DispatchArithmetic(request.node->type().dtype, [&](auto tag) -> KernelOr {
    using T = typename decltype(tag)::type;
    return MakeBodyKernel([attrs = request.node->attrs<RoiAlignAttrs>(),
                           x = request.operand_shape(0), y = request.node->shape()](
                              const KernelArgs& args) { return Align<T>(attrs, x, y, args); });
  });
}

}  // namespace qb::execute
