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
  kMod,
  kPRelu,
  kBitwise,
  kTensorCmp,
  kLogical,
  kWhere,  // three operands
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
  kCelu,
  kSelu,
  kGelu,
  kMish,
  kSoftsign,
  kShrink,
  kThresholdedRelu,
  kRound,
  kSign,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  // Normalization and softmax.
  kBatchnorm,
  kSoftmax,
  kLayerNormalization,
  kRmsNormalization,
  kGroupNormalization,
  // Pooling and reduction.
  kPooling,
  kGlobalAveragePooling,
  kReduceMean,
  kReduceSum,
  kReduceMax,
  kReduceMin,
  kReduceProd,
  // Search and running sums along an axis.
  kArgMax,
  kArgMin,
  kTopKValues,
  kTopKIndices,
  kCumSum,
  // Shape and data movement.
  kReshape,
  kTranspose,
  kConcatenate,
  kSlice,
  kPad,
  kExpand,
  kGather,
  kGatherElements,
  kGatherND,
  kScatterElements,
  kScatterND,
  kReverseSequence,
  // As many results as the values say (core/ops/selection.h).
  kNonZero,
  kCountUsed,
  kTrim,
  kUnique,
  kNonMaxSuppression,
  // Images.
  kResize,
  kDepthToSpace,
  kSpaceToDepth,
  kPoolingIndices,
  kGridSample,
  kRoiAlign,
  // The rest.
  kDet,
  kLSTM,
  kGRU,
  kRNN,
  kQuantizeLinear,
  kDequantizeLinear,
  kCount,  // not an operator
};

}  // namespace qb
