// NonMaxSuppression: boxes of a class by falling score, without those that overlap a kept one.
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/execute/kernels/all_kernels.h"
#include "core/ops/selection.h"

namespace qb::execute {
namespace {

struct Box {
  float top, left, bottom, right;
};

Box BoxAt(const float* values, bool center_point) {
  if (center_point) {
    const float half_width = values[2] / 2.0f;
    const float half_height = values[3] / 2.0f;
    return {values[1] - half_height, values[0] - half_width, values[1] + half_height,
            values[0] + half_width};
  }
  return {std::min(values[0], values[2]), std::min(values[1], values[3]),
          std::max(values[0], values[2]), std::max(values[1], values[3])};
}

float Area(const Box& box) { return (box.bottom - box.top) * (box.right - box.left); }

float Overlap(const Box& a, const Box& b) {
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (!(height > 0.0f) || !(width > 0.0f) || !(Area(a) > 0.0f) || !(Area(b) > 0.0f)) {
    return 0.0f;
  }
  const float shared = height * width;
  return shared / (Area(a) + Area(b) - shared);
}

// The boxes of one class, in order of selection.
std::vector<int64_t> Select(const NonMaxSuppressionAttrs& attrs, const float* boxes,
                            const float* scores, int64_t count) {
  std::vector<int64_t> candidates;
  for (int64_t i = 0; i < count; ++i) {
    const bool counts = !attrs.use_score_threshold || scores[i] > attrs.score_threshold;
    if (counts && !std::isnan(scores[i])) {
      candidates.push_back(i);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [scores](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  std::vector<int64_t> kept;
  for (const int64_t candidate : candidates) {
    if (static_cast<int64_t>(kept.size()) == attrs.max_output_size) {
      break;
    }
    const Box box = BoxAt(boxes + 4 * candidate, attrs.center_point_box);
    const bool overlaps = std::any_of(kept.begin(), kept.end(), [&](int64_t other) {
      return Overlap(box, BoxAt(boxes + 4 * other, attrs.center_point_box)) > attrs.iou_threshold;
    });
    if (!overlaps) {
      kept.push_back(candidate);
    }
  }
  return kept;
}

}  // namespace

KernelOr MakeNonMaxSuppression(const KernelRequest& request) {
  const NonMaxSuppressionAttrs attrs = request.node->attrs<NonMaxSuppressionAttrs>();
  const Shape scores = request.operand_shape(1);
  const int64_t rows = request.node->shape()[0];
  return MakeBodyKernel([=](const KernelArgs& args) {
    int64_t* out = args.output<int64_t>();
    std::fill_n(out, rows * 3, int64_t{-1});
    const int64_t count = scores[2];
    for (int64_t batch = 0; batch < scores[0]; ++batch) {
      for (int64_t type = 0; type < scores[1]; ++type) {
        const float* of_class = args.operand<float>(1) + (batch * scores[1] + type) * count;
        for (const int64_t box :
             Select(attrs, args.operand<float>(0) + batch * count * 4, of_class, count)) {
          *out++ = batch;
          *out++ = type;
          *out++ = box;
        }
      }
    }
  });
}

}  // namespace qb::execute
