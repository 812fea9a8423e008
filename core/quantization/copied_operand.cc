#include "core/quantization/copied_operand.h"

#include "core/ops/movement.h"
#include "core/ops/pooling.h"

namespace qb {

const Node* CopiedOperand(const Node& node) {
  switch (node.op()) {
    case OpKind::kReshape:
    case OpKind::kTranspose:
    case OpKind::kSlice:
    case OpKind::kPad:
    case OpKind::kExpand:
    case OpKind::kDepthToSpace:
    case OpKind::kSpaceToDepth:
    case OpKind::kReduceMax:
    case OpKind::kGather:
      return node.operand(0);
    case OpKind::kPooling:
      return node.attrs<PoolingAttrs>().pool_type == PoolType::kMax ? node.operand(0) : nullptr;
    case OpKind::kResize:
      return node.attrs<ResizeAttrs>().mode != ResizeMode::kCubic ? node.operand(0) : nullptr;
    default:
      return nullptr;
  }
}

bool MovesAnyCodes(const Node& node) {
  return node.op() != OpKind::kPooling && node.op() != OpKind::kReduceMax;
}

}  // namespace qb
