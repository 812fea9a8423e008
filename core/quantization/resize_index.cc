#include "core/quantization/resize_index.h"

#include <numeric>

#include "core/base/status_macros.h"
#include "core/execute/evaluate.h"
#include "core/ops/build.h"

namespace qb {

absl::StatusOr<std::vector<int32_t>> NearestIndices(const ResizeAttrs& attrs, int64_t axis,
                                                    int64_t from, int64_t to) {
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
  std::vector<int32_t> result;
  for (const float index : picked.values<float>()) {
    result.push_back(static_cast<int32_t>(index));
  }
  return result;
}

}  // namespace qb
