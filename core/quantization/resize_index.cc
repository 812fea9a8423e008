#include "core/quantization/resize_index.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/status_macros.h"
#include "core/execute/evaluate.h"
#include "core/ops/build.h"

namespace qb {
namespace {

// What the float kernel makes of 0, 1, 2, ...: for each position the index that it copies, or the
// place between two indices.
absl::StatusOr<std::vector<float>> ResizedRamp(const ResizeAttrs& attrs, int64_t axis, int64_t from,
                                               int64_t to) {
  ResizeAttrs one_axis = attrs;
  one_axis.sizes = {to};
  one_axis.scales = {attrs.scales.empty() ? static_cast<float>(to) / static_cast<float>(from)
                                          : attrs.scales[static_cast<size_t>(axis)]};
  std::vector<float> ramp(static_cast<size_t>(from));
  std::iota(ramp.begin(), ramp.end(), 0.0f);
  const Tensor indices = Tensor::OfFloats({from}, ramp);
  Graph scratch;
  Node* input = scratch.AddInput("indices", indices.type());
  QB_ASSIGN_OR_RETURN(const Node* resize,
                      AddOp(scratch, OpKind::kResize, "resize", {input}, one_axis));
  QB_ASSIGN_OR_RETURN(const Tensor picked, EvaluateNode(*resize, {indices}));
  const auto values = picked.values<float>();
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace

absl::StatusOr<std::vector<int32_t>> NearestIndices(const ResizeAttrs& attrs, int64_t axis,
                                                    int64_t from, int64_t to) {
  QB_ASSIGN_OR_RETURN(const std::vector<float> ramp, ResizedRamp(attrs, axis, from, to));
  std::vector<int32_t> result;
  result.reserve(ramp.size());
  for (const float index : ramp) {
    result.push_back(static_cast<int32_t>(index));
  }
  return result;
}

absl::StatusOr<integer::LinearAxis> LinearPlaces(const ResizeAttrs& attrs, int64_t axis,
                                                 int64_t from, int64_t to, int32_t fraction_bits) {
  QB_ASSIGN_OR_RETURN(const std::vector<float> ramp, ResizedRamp(attrs, axis, from, to));
  integer::LinearAxis places;
  for (const float place : ramp) {
    const double held = std::clamp<double>(place, 0.0, static_cast<double>(from - 1));
    const double low = std::floor(held);
    places.low.push_back(static_cast<int32_t>(low));
    places.high.push_back(
        static_cast<int32_t>(std::min<double>(low + 1, static_cast<double>(from - 1))));
    places.fraction.push_back(
        static_cast<int32_t>(std::lround((held - low) * static_cast<double>(1 << fraction_bits))));
  }
  return places;
}

}  // namespace qb
