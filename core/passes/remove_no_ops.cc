#include "core/passes/remove_no_ops.h"

#include <algorithm>
#include <limits>

#include "core/ops/elementwise.h"
#include "core/ops/movement.h"
#include "core/ops/pointwise.h"
#include "core/ops/pooling.h"

namespace qb {
namespace {

bool AllEqual(absl::Span<const int64_t> values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

// Steps other than 1 may reverse an axis although the shape stays.
bool IsWholeSlice(const Node& node) { return AllEqual(node.attrs<SliceAttrs>().step, 1); }

bool IsOrdered(const Node& node) {
  const std::vector<int64_t>& axes = node.attrs<TransposeAttrs>().transpose_axes;
  return std::is_sorted(axes.begin(), axes.end());
}

bool IsUnboundedClip(const Node& node) {
  const auto& attrs = node.attrs<ClipAttrs>();
  return attrs.clip_min_value <= std::numeric_limits<float>::lowest() &&
         attrs.clip_max_value >= std::numeric_limits<float>::max();
}

bool IsUnitScale(const Node& node) {
  const std::vector<float>& scales = node.attrs<ResizeAttrs>().scales;
  return std::all_of(scales.begin(), scales.end(), [](float scale) { return scale == 1.0f; });
}

bool IsUnitWindow(const Node& node) {
  const auto& attrs = node.attrs<PoolingAttrs>();
  return attrs.h_kernel == 1 && attrs.w_kernel == 1 && attrs.h_stride == 1 && attrs.w_stride == 1;
}

// The second operand is a constant that the operator does not feel; the first has the result's
// type.
bool IsNeutral(const Node& node, float neutral) {
  const Node& constant = *node.operand(1);
  if (node.attrs<ElementwiseAttrs>().activation.kind != ActivationKind::kNone ||
      !constant.is_constant() || constant.type().dtype != DType::kFloat32) {
    return false;
  }
  const absl::Span<const float> values = constant.constant().values<float>();
  return std::all_of(values.begin(), values.end(), [&](float v) { return v == neutral; });
}

// Precondition: the first operand has the node's type.
bool PassesOperandThrough(const Node& node) {
  switch (node.op()) {
    case OpKind::kIdentity:
    case OpKind::kCast:
    case OpKind::kReshape:
    case OpKind::kExpand:
      return true;
    case OpKind::kTranspose:
      return IsOrdered(node);
    case OpKind::kSlice:
      return IsWholeSlice(node);
    case OpKind::kPad:
      return AllEqual(node.attrs<PadAttrs>().padding_list, 0);
    case OpKind::kConcatenate:
      return node.operand_count() == 1;
    case OpKind::kClip:
      return IsUnboundedClip(node);
    case OpKind::kResize:
      return IsUnitScale(node);
    case OpKind::kPooling:
      return IsUnitWindow(node);
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
      return node.attrs<DepthSpaceAttrs>().block_size == 1;
    case OpKind::kAdding:
    case OpKind::kSub:
      return IsNeutral(node, 0.0f);
    case OpKind::kMultiply:
    case OpKind::kDiv:
      return IsNeutral(node, 1.0f);
    default:
      return false;
  }
}

}  // namespace

absl::StatusOr<bool> RemoveNoOps(Graph& graph) {
  bool changed = false;
  for (Node* node : graph.TopologicalOrder()) {
    if (node->operand_count() == 0 || node->operand(0)->type() != node->type() ||
        !PassesOperandThrough(*node)) {
      continue;
    }
    graph.ReplaceUses(node, node->operand(0));
    graph.RemoveNode(node);
    changed = true;
  }
  graph.RemoveDeadNodes();
  return changed;
}

}  // namespace qb
