#include "core/passes/layout_rules.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/build.h"
#include "core/ops/convolution.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/ops/pointwise.h"
#include "core/ops/pooling.h"
#include "core/ops/reduce.h"
#include "core/ops/transpose_convolution.h"
#include "core/passes/reshape_layout.h"
#include "core/passes/rewrite.h"

namespace qb {
namespace {

// The node's flag; null for operators that know no images.
bool* ChannelLastFlag(Node* node) {
  switch (node->op()) {
    case OpKind::kConvolution:
      return &node->mutable_attrs<ConvolutionAttrs>().channel_last;
    case OpKind::kTransposeConvolution:
      return &node->mutable_attrs<TransposeConvolutionAttrs>().channel_last;
    case OpKind::kPooling:
      return &node->mutable_attrs<PoolingAttrs>().channel_last;
    case OpKind::kGlobalAveragePooling:
      return &node->mutable_attrs<GlobalAveragePoolingAttrs>().channel_last;
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
      return &node->mutable_attrs<DepthSpaceAttrs>().channel_last;
    default:
      return nullptr;
  }
}

absl::Status Finish(StoredLayout& layout, Node* node, AxisMap map) {
  QB_RETURN_IF_ERROR(RefreshType(layout.graph(), node));
  layout.Set(node, {node, std::move(map)});
  return absl::OkStatus();
}

absl::Status KeepSourceOrder(StoredLayout& layout, Node* node) {
  for (int64_t i = 0; i < node->operand_count(); ++i) {
    const int64_t rank = layout.SourceShape(node->operand(i)).rank();
    QB_RETURN_IF_ERROR(layout.Use(node, i, SourceOrder(rank)));
  }
  return absl::OkStatus();
}

absl::Status ConvertImageOp(StoredLayout& layout, Node* node) {
  bool* channel_last = ChannelLastFlag(node);
  if (*channel_last) {
    return KeepSourceOrder(layout, node);
  }
  *channel_last = true;
  QB_RETURN_IF_ERROR(layout.Use(node, 0, ChannelLastOrder()));
  if (node->op() == OpKind::kConvolution || node->op() == OpKind::kTransposeConvolution) {
    static_assert(TransposeConvolutionAttrs::kWeights == ConvolutionAttrs::kWeights);
    Node* weights = node->operand(ConvolutionAttrs::kWeights);
    QB_RETURN_IF_ERROR(layout.Use(node, ConvolutionAttrs::kWeights, ChannelLastOrder()));
    if (weights->is_constant()) {
      // At once: otherwise all weights of the model would be there twice.
      RemoveIfUnused(layout.graph(), weights);
    }
  }
  return Finish(layout, node, ChannelLastOrder());
}

// Takes the first operand as it is stored; the rule then translates the attributes by its map.
AxisMap FollowOperand(StoredLayout& layout, Node* node) {
  StoredTensor stored = layout.Of(node->operand(0));
  layout.graph().ReplaceOperand(node, 0, stored.node);
  return std::move(stored.map);
}

absl::Status FollowPointwise(StoredLayout& layout, Node* node) {
  return Finish(layout, node, FollowOperand(layout, node));
}

int64_t At(const AxisMap& map, int64_t axis) { return map[static_cast<size_t>(axis)]; }

template <typename T>
std::vector<T> Stored(const std::vector<T>& per_axis, const AxisMap& map) {
  std::vector<T> stored(per_axis.size());
  for (size_t axis = 0; axis < map.size(); ++axis) {
    stored[static_cast<size_t>(map[axis])] = per_axis[axis];
  }
  return stored;
}

absl::Status FollowBatchnorm(StoredLayout& layout, Node* node) {
  AxisMap map = FollowOperand(layout, node);
  int64_t& axis = node->mutable_attrs<BatchnormAttrs>().axis;
  axis = At(map, axis);
  return Finish(layout, node, std::move(map));
}

absl::Status FollowSoftmax(StoredLayout& layout, Node* node) {
  AxisMap map = FollowOperand(layout, node);
  int64_t& axis = node->mutable_attrs<SoftmaxAttrs>().axis;
  axis = At(map, axis);
  return Finish(layout, node, std::move(map));
}

absl::Status FollowSlice(StoredLayout& layout, Node* node) {
  AxisMap map = FollowOperand(layout, node);
  for (int64_t& axis : node->mutable_attrs<SliceAttrs>().axis) {
    axis = At(map, axis);
  }
  return Finish(layout, node, std::move(map));
}

absl::Status FollowPad(StoredLayout& layout, Node* node) {
  AxisMap map = FollowOperand(layout, node);
  std::vector<int64_t>& padding = node->mutable_attrs<PadAttrs>().padding_list;
  const auto middle = padding.begin() + static_cast<int64_t>(map.size());
  std::vector<int64_t> stored = Stored(std::vector<int64_t>(padding.begin(), middle), map);
  const std::vector<int64_t> ends = Stored(std::vector<int64_t>(middle, padding.end()), map);
  stored.insert(stored.end(), ends.begin(), ends.end());
  padding = std::move(stored);
  return Finish(layout, node, std::move(map));
}

absl::Status FollowResize(StoredLayout& layout, Node* node) {
  AxisMap map = FollowOperand(layout, node);
  auto& attrs = node->mutable_attrs<ResizeAttrs>();
  attrs.sizes = Stored(attrs.sizes, map);
  attrs.scales = Stored(attrs.scales, map);
  if (!attrs.roi.empty()) {
    const auto middle = attrs.roi.begin() + static_cast<int64_t>(map.size());
    std::vector<float> roi = Stored(std::vector<float>(attrs.roi.begin(), middle), map);
    const std::vector<float> ends = Stored(std::vector<float>(middle, attrs.roi.end()), map);
    roi.insert(roi.end(), ends.begin(), ends.end());
    attrs.roi = std::move(roi);
  }
  return Finish(layout, node, std::move(map));
}

// The map of what is left when these source axes go.
AxisMap WithoutAxes(const AxisMap& map, const std::vector<int64_t>& removed) {
  std::vector<int64_t> kept;
  for (size_t axis = 0; axis < map.size(); ++axis) {
    if (std::find(removed.begin(), removed.end(), static_cast<int64_t>(axis)) == removed.end()) {
      kept.push_back(map[axis]);
    }
  }
  AxisMap left;
  for (const int64_t place : kept) {
    left.push_back(
        std::count_if(kept.begin(), kept.end(), [&](int64_t other) { return other < place; }));
  }
  return left;
}

absl::Status FollowReduce(StoredLayout& layout, Node* node) {
  AxisMap map = FollowOperand(layout, node);
  auto& attrs = node->mutable_attrs<ReduceAttrs>();
  AxisMap result = attrs.keep_dims ? map : WithoutAxes(map, attrs.reduce_axes);
  for (int64_t& axis : attrs.reduce_axes) {
    axis = At(map, axis);
  }
  std::sort(attrs.reduce_axes.begin(), attrs.reduce_axes.end());
  return Finish(layout, node, std::move(result));
}

absl::Status FollowExpand(StoredLayout& layout, Node* node) {
  if (layout.SourceShape(node->operand(0)).rank() != node->shape().rank()) {
    return KeepSourceOrder(layout, node);
  }
  AxisMap map = FollowOperand(layout, node);
  auto& attrs = node->mutable_attrs<ExpandAttrs>();
  attrs.shape = Stored(attrs.shape, map);
  return Finish(layout, node, std::move(map));
}

absl::Status FollowGather(StoredLayout& layout, Node* node) {
  const int64_t index_rank = layout.SourceShape(node->operand(1)).rank();
  if (index_rank > 1) {
    return KeepSourceOrder(layout, node);
  }
  AxisMap map = FollowOperand(layout, node);
  QB_RETURN_IF_ERROR(layout.Use(node, 1, SourceOrder(index_rank)));
  int64_t& axis = node->mutable_attrs<GatherAttrs>().axis;
  AxisMap result = index_rank == 1 ? map : WithoutAxes(map, {axis});
  axis = At(map, axis);
  return Finish(layout, node, std::move(result));
}

// The transposition itself costs nothing: it only changes how the source axes map to the stored
// ones.
absl::Status AbsorbTranspose(StoredLayout& layout, Node* node) {
  StoredTensor stored = layout.Of(node->operand(0));
  AxisMap map;
  for (const int64_t axis : node->attrs<TransposeAttrs>().transpose_axes) {
    map.push_back(At(stored.map, axis));
  }
  layout.Set(node, {stored.node, std::move(map)});
  return absl::OkStatus();
}

absl::Status ConvertReshape(StoredLayout& layout, Node* node) {
  const Shape target = node->shape();
  ReshapeLayout plan =
      PlanReshape(layout.SourceShape(node->operand(0)), layout.Of(node->operand(0)).map, target);
  QB_RETURN_IF_ERROR(layout.Use(node, 0, plan.operand));
  node->mutable_attrs<ReshapeAttrs>().new_shape = StoredShape(target, plan.result).dims();
  return Finish(layout, node, std::move(plan.result));
}

// The operand whose order all others adopt: with channels last before any other order (its
// neighbours are images), then the largest. Null when none has the rank.
Node* LeadingOperand(const StoredLayout& layout, const Node& node, int64_t rank) {
  Node* leader = nullptr;
  std::pair<bool, int64_t> best;
  for (Node* operand : node.operands()) {
    const StoredTensor stored = layout.Of(operand);
    const int64_t elements = stored.node->shape().elements();
    const std::pair<bool, int64_t> score = {stored.map == ChannelLastOrder(), elements};
    if (stored.node->is_constant() || stored.node->shape().rank() != rank || elements == 1 ||
        (leader != nullptr && score <= best)) {
      continue;
    }
    leader = operand;
    best = score;
  }
  return leader;
}

absl::Status AlignElementwise(StoredLayout& layout, Node* node) {
  const int64_t rank = node->shape().rank();
  Node* leader = LeadingOperand(layout, *node, rank);
  if (leader == nullptr) {
    return KeepSourceOrder(layout, node);
  }
  const AxisMap map = layout.Of(leader).map;
  for (int64_t i = 0; i < node->operand_count(); ++i) {
    Node* operand = node->operand(i);
    const Shape shape = layout.SourceShape(operand);
    if (shape.elements() == 1) {
      layout.graph().ReplaceOperand(node, i, layout.Of(operand).node);
      continue;
    }
    if (shape.rank() < rank && map != SourceOrder(rank)) {
      QB_ASSIGN_OR_RETURN(Node * widened, layout.WithRank(operand, rank));
      layout.graph().ReplaceOperand(node, i, widened);
    }
    const int64_t operand_rank = layout.SourceShape(node->operand(i)).rank();
    QB_RETURN_IF_ERROR(layout.Use(node, i, operand_rank == rank ? map : SourceOrder(operand_rank)));
  }
  return Finish(layout, node, map);
}

absl::Status AlignConcatenate(StoredLayout& layout, Node* node) {
  Node* leader = LeadingOperand(layout, *node, node->shape().rank());
  if (leader == nullptr) {
    return KeepSourceOrder(layout, node);
  }
  const AxisMap map = layout.Of(leader).map;
  for (int64_t i = 0; i < node->operand_count(); ++i) {
    QB_RETURN_IF_ERROR(layout.Use(node, i, map));
  }
  int64_t& axis = node->mutable_attrs<ConcatenateAttrs>().axis;
  axis = At(map, axis);
  return Finish(layout, node, map);
}

struct LayoutRule {
  OpKind kind;
  absl::Status (*apply)(StoredLayout& layout, Node* node);
};

// Pointwise operators need no row.
constexpr auto kRules = std::to_array<LayoutRule>({
    {OpKind::kCast, FollowPointwise},
    {OpKind::kConvolution, ConvertImageOp},
    {OpKind::kTransposeConvolution, ConvertImageOp},
    {OpKind::kAdding, AlignElementwise},
    {OpKind::kSub, AlignElementwise},
    {OpKind::kMultiply, AlignElementwise},
    {OpKind::kDiv, AlignElementwise},
    {OpKind::kPow, AlignElementwise},
    {OpKind::kMaximum, AlignElementwise},
    {OpKind::kMinimum, AlignElementwise},
    {OpKind::kMod, AlignElementwise},
    {OpKind::kPRelu, AlignElementwise},
    {OpKind::kBitwise, AlignElementwise},
    {OpKind::kTensorCmp, AlignElementwise},
    {OpKind::kLogical, AlignElementwise},
    {OpKind::kWhere, AlignElementwise},
    {OpKind::kBatchnorm, FollowBatchnorm},
    {OpKind::kSoftmax, FollowSoftmax},
    {OpKind::kPooling, ConvertImageOp},
    {OpKind::kGlobalAveragePooling, ConvertImageOp},
    {OpKind::kReduceMean, FollowReduce},
    {OpKind::kReduceSum, FollowReduce},
    {OpKind::kReduceMax, FollowReduce},
    {OpKind::kReduceMin, FollowReduce},
    {OpKind::kReduceProd, FollowReduce},
    {OpKind::kReshape, ConvertReshape},
    {OpKind::kTranspose, AbsorbTranspose},
    {OpKind::kConcatenate, AlignConcatenate},
    {OpKind::kSlice, FollowSlice},
    {OpKind::kPad, FollowPad},
    {OpKind::kExpand, FollowExpand},
    {OpKind::kGather, FollowGather},
    {OpKind::kResize, FollowResize},
    {OpKind::kDepthToSpace, ConvertImageOp},
    {OpKind::kSpaceToDepth, ConvertImageOp},
});

}  // namespace

bool IsChannelFirstImageOp(const Node& node) {
  // The flag is only read.
  const bool* channel_last = ChannelLastFlag(const_cast<Node*>(&node));
  return channel_last != nullptr && !*channel_last;
}

bool MovesAlong(OpKind kind) {
  switch (kind) {
    case OpKind::kCast:
    case OpKind::kAdding:
    case OpKind::kSub:
    case OpKind::kMultiply:
    case OpKind::kDiv:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kPRelu:
    case OpKind::kBatchnorm:
    case OpKind::kConcatenate:
    case OpKind::kSlice:
    case OpKind::kPad:
    case OpKind::kResize:
      return true;
    default:
      return IsPointwise(kind);
  }
}

absl::Status ApplyLayoutRule(StoredLayout& layout, Node* node) {
  if (node->operand_count() == 0) {
    return absl::OkStatus();
  }
  if (IsPointwise(node->op())) {
    return FollowPointwise(layout, node);
  }
  for (const LayoutRule& rule : kRules) {
    if (rule.kind == node->op()) {
      return rule.apply(layout, node);
    }
  }
  return KeepSourceOrder(layout, node);
}

}  // namespace qb
