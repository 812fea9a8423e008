#include "core/passes/raise_pixel_shuffle.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/movement.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

constexpr size_t kRank = 6;

// What a split dimension is: a dimension of the image without its block, or the block.
enum class Part { kBatch, kChannels, kRows, kColumns, kBlock };

struct Spelling {
  OpKind op;
  DepthOrder order;
  bool channel_last;
  std::array<Part, kRank> split;
  std::array<int64_t, kRank> axes;
};

constexpr Part kN = Part::kBatch, kC = Part::kChannels, kH = Part::kRows, kW = Part::kColumns,
               kB = Part::kBlock;

constexpr auto kSpellings = std::to_array<Spelling>({
    {OpKind::kDepthToSpace, DepthOrder::kCrd, false, {kN, kC, kB, kB, kH, kW}, {0, 1, 4, 2, 5, 3}},
    {OpKind::kDepthToSpace, DepthOrder::kDcr, false, {kN, kB, kB, kC, kH, kW}, {0, 3, 4, 1, 5, 2}},
    {OpKind::kDepthToSpace, DepthOrder::kDcr, true, {kN, kH, kW, kB, kB, kC}, {0, 1, 3, 2, 4, 5}},
    {OpKind::kSpaceToDepth, DepthOrder::kDcr, false, {kN, kC, kH, kB, kW, kB}, {0, 3, 5, 1, 2, 4}},
});

// Where the part is in an image, which has channels last or not.
int64_t AxisOf(Part part, bool channel_last) {
  switch (part) {
    case Part::kChannels:
      return channel_last ? 3 : 1;
    case Part::kRows:
      return channel_last ? 1 : 2;
    case Part::kColumns:
      return channel_last ? 2 : 3;
    default:
      return 0;
  }
}

// The size of the first block dimension.
int64_t BlockOf(const Spelling& spelling, const Shape& split) {
  const auto* block = std::find(spelling.split.begin(), spelling.split.end(), kB);
  return split[block - spelling.split.begin()];
}

// True when the shapes are those of the spelling with blocks of this size.
bool HasShapes(const Spelling& spelling, int64_t block, const Shape& image, const Shape& split,
               const Shape& result) {
  const bool to_space = spelling.op == OpKind::kDepthToSpace;
  for (size_t i = 0; i < kRank; ++i) {
    const Part part = spelling.split[i];
    const int64_t size = split[static_cast<int64_t>(i)];
    if (part == kB) {
      if (size != block) {
        return false;
      }
      continue;
    }
    const int64_t axis = AxisOf(part, spelling.channel_last);
    const int64_t in_depth = part == kC ? block * block : 1;
    const int64_t in_space = part == kH || part == kW ? block : 1;
    if (image[axis] != size * (to_space ? in_depth : in_space) ||
        result[axis] != size * (to_space ? in_space : in_depth)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<bool> Raise(Graph& graph, Node* node) {
  Node* transpose = node->operand(0);
  if (transpose->op() != OpKind::kTranspose || transpose->operand(0)->op() != OpKind::kReshape) {
    return false;
  }
  Node* split = transpose->operand(0);
  Node* image = split->operand(0);
  if (image->shape().rank() != 4 || node->shape().rank() != 4 ||
      split->shape().rank() != static_cast<int64_t>(kRank)) {
    return false;
  }
  const std::vector<int64_t>& axes = transpose->attrs<TransposeAttrs>().transpose_axes;
  for (const Spelling& spelling : kSpellings) {
    const int64_t block = BlockOf(spelling, split->shape());
    if (block < 2 || !std::equal(axes.begin(), axes.end(), spelling.axes.begin()) ||
        !HasShapes(spelling, block, image->shape(), split->shape(), node->shape())) {
      continue;
    }
    auto attrs = std::make_unique<DepthSpaceAttrs>();
    attrs->block_size = block;
    attrs->order = spelling.order;
    attrs->channel_last = spelling.channel_last;
    QB_RETURN_IF_ERROR(ReplaceWithOp(graph, node, spelling.op, {image}, std::move(attrs)).status());
    return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> RaisePixelShuffle(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->op() == OpKind::kReshape) {
      QB_ASSIGN_OR_RETURN(const bool raised, Raise(graph, node));
      changed |= raised;
    }
  }
  if (changed) {
    graph.RemoveDeadNodes();
  }
  return changed;
}

}  // namespace qb
