#include "core/ops/sampling.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"

namespace qb {

absl::StatusOr<TensorType> InferGridSample(const InferenceInput& input) {
  const auto& attrs = input.attributes<GridSampleAttrs>();
  const TensorType& x = input.type(0);
  const Shape& grid = input.shape(1);
  const int64_t spatial = x.shape.rank() - 2;
  const int64_t most_spatial = attrs.mode == SampleMode::kCubic ? 2 : 3;
  if (!IsFloat(x.dtype) || input.type(1).dtype != x.dtype || spatial < 1 ||
      spatial > most_spatial || grid.rank() != x.shape.rank() || grid[0] != x.shape[0] ||
      grid[grid.rank() - 1] != spatial) {
    return absl::InvalidArgumentError(
        absl::StrCat("x is ", x.ToString(), " and the grid ", input.type(1).ToString(),
                     "; accepted: one float type, [N, C, ...] and [N, ..., places] of up to ",
                     most_spatial, " spatial axes"));
  }
  std::vector<int64_t> dims = {x.shape[0], x.shape[1]};
  dims.insert(dims.end(), grid.begin() + 1, grid.end() - 1);
  QB_RETURN_IF_ERROR(CheckedElements(dims).status());
  return TensorType{x.dtype, Shape(std::move(dims))};
}

absl::StatusOr<TensorType> InferRoiAlign(const InferenceInput& input) {
  const auto& attrs = input.attributes<RoiAlignAttrs>();
  const TensorType& x = input.type(0);
  const Shape& rois = input.shape(1);
  const bool fits = IsFloat(x.dtype) && x.shape.rank() == 4 && input.type(1).dtype == x.dtype &&
                    rois.rank() == 2 && rois[1] == 4 && input.shape(2) == Shape({rois[0]}) &&
                    input.type(2).dtype == DType::kInt64;
  constexpr int64_t kMost = 1 << 16;
  if (!fits || attrs.output_height < 1 || attrs.output_width < 1 || attrs.output_height > kMost ||
      attrs.output_width > kMost || attrs.sampling_ratio < 0 || attrs.sampling_ratio > kMost ||
      !std::isfinite(attrs.spatial_scale)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "x is ", x.ToString(), ", rois ", input.type(1).ToString(), ", batch indices ",
        input.type(2).ToString(), " for ", attrs.output_height, "x", attrs.output_width,
        " bins; accepted: [N, C, H, W], [R, 4] of one float type, int64 [R]"));
  }
  const Shape result = {rois[0], x.shape[1], attrs.output_height, attrs.output_width};
  QB_RETURN_IF_ERROR(CheckedElements(result.dims()).status());
  return TensorType{x.dtype, result};
}

absl::StatusOr<TensorType> InferDet(const InferenceInput& input) {
  const TensorType& x = input.type(0);
  const int64_t rank = x.shape.rank();
  if (!IsFloat(x.dtype) || rank < 2 || x.shape[rank - 1] != x.shape[rank - 2]) {
    return absl::InvalidArgumentError(absl::StrCat("the operand is ", x.ToString(),
                                                   "; accepted: square matrices of a float type"));
  }
  return TensorType{x.dtype, Shape(std::vector<int64_t>(x.shape.begin(), x.shape.end() - 2))};
}

absl::StatusOr<TensorType> InferPoolingIndices(const InferenceInput& input) {
  const auto& attrs = input.attributes<PoolingAttrs>();
  if (attrs.pool_type != PoolType::kMax || attrs.channel_last) {
    return absl::InvalidArgumentError(
        "indices exist for maximum pooling with the channels before the pixels");
  }
  QB_ASSIGN_OR_RETURN(TensorType type, InferPooling(input));
  type.dtype = DType::kInt64;
  return type;
}

}  // namespace qb
