// The closed set of operators. core/ops/all_ops.cc has one row for each.
#pragma once

#include <cstdint>

namespace qb {

// In memory only: files carry the operator's name. Shapes and attributes: core/ops/<family>.h.
enum class OpKind : uint8_t {
  // Graph border.
  kInput,          // no operands
  kInputConstant,  // no operands; Node::constant()
  kOutput,         // one operand; the node's name is the output's name
  kIdentity,
  kCast,
  // Convolution family and matrix products.
  kConvolution,           // plain, grouped and depthwise
  kTransposeConvolution,  // the same
  kMatMul,
  // Elementwise with broadcasting.
  kAdding,
  kSub,
  kMultiply,
  kDiv,
  kPow,
  kMaximum,
  kMinimum,
  kPRelu,
  // Pointwise with one operand.
  kRelu,
  kLeakyRelu,
  kClip,
  kSigmoid,
  kTanh,
  kHardSigmoid,
  kHardSwish,
  kSwish,
  kElu,
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kNeg,
  kErf,
  kCeil,
  kFloor,
  kSoftplus,
  // Normalization and softmax.
  kBatchnorm,
  kSoftmax,
  // Pooling and reduction.
  kPooling,
  kGlobalAveragePooling,
  kReduceMean,
  kReduceSum,
  kReduceMax,
  kReduceMin,
  // Shape and data movement.
  kReshape,
  kTranspose,
  kConcatenate,
  kSlice,
  kPad,
  kExpand,
  kGather,
  kResize,
  kDepthToSpace,
  kSpaceToDepth,
  kCount,  // not an operator
};

}  // namespace qb
