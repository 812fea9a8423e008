// The table of kernels by operator.
#pragma once

#include "core/execute/kernel.h"
#include "core/ir/op_kind.h"

namespace qb::execute {

enum class NodeRole {
  kComputed,  // `make` prepares its kernel
  kAlias,     // the bytes of its operand under another name or shape
  kInput,     // given by the caller
  kConstant,  // given by the graph
};

struct KernelRow {
  OpKind kind;
  NodeRole role;
  KernelOr (*make)(const KernelRequest& request);  // null unless kComputed
  // Computes: float16 and narrow integers run in a wider type (widening.h). Operators that only
  // move elements take every type as it is.
  bool widens = false;
};

const KernelRow& KernelRowOf(OpKind kind);

// Prepares the kernel of a kComputed node. Errors: Unimplemented or InvalidArgument with
// "node 'x' (Op): " before the reason.
KernelOr MakeKernel(const KernelRequest& request);

// One maker a family, each in kernels/<family>.cc. Errors: Unimplemented naming the case.
KernelOr MakeCast(const KernelRequest& request);
KernelOr MakeConvolution(const KernelRequest& request);
KernelOr MakeTransposeConvolution(const KernelRequest& request);
KernelOr MakeMatMul(const KernelRequest& request);
KernelOr MakeElementwise(const KernelRequest& request);
KernelOr MakeMod(const KernelRequest& request);
KernelOr MakePRelu(const KernelRequest& request);
KernelOr MakeBitwise(const KernelRequest& request);
KernelOr MakeTensorCmp(const KernelRequest& request);
KernelOr MakeLogical(const KernelRequest& request);
KernelOr MakeWhere(const KernelRequest& request);
KernelOr MakePointwise(const KernelRequest& request);
KernelOr MakeBatchnorm(const KernelRequest& request);
KernelOr MakeSoftmax(const KernelRequest& request);
KernelOr MakeLayerNormalization(const KernelRequest& request);
KernelOr MakeGroupNormalization(const KernelRequest& request);
KernelOr MakePooling(const KernelRequest& request);
KernelOr MakeGlobalAveragePooling(const KernelRequest& request);
KernelOr MakeReduce(const KernelRequest& request);
KernelOr MakeArg(const KernelRequest& request);
KernelOr MakeTopK(const KernelRequest& request);
KernelOr MakeCumSum(const KernelRequest& request);
KernelOr MakeTranspose(const KernelRequest& request);
KernelOr MakeConcatenate(const KernelRequest& request);
KernelOr MakeSlice(const KernelRequest& request);
KernelOr MakePad(const KernelRequest& request);
KernelOr MakeExpand(const KernelRequest& request);
KernelOr MakeGather(const KernelRequest& request);
KernelOr MakeGatherElements(const KernelRequest& request);
KernelOr MakeGatherND(const KernelRequest& request);
KernelOr MakeScatterElements(const KernelRequest& request);
KernelOr MakeScatterND(const KernelRequest& request);
KernelOr MakeReverseSequence(const KernelRequest& request);
KernelOr MakeNonZero(const KernelRequest& request);
KernelOr MakeCountUsed(const KernelRequest& request);
KernelOr MakeUnique(const KernelRequest& request);
KernelOr MakeNonMaxSuppression(const KernelRequest& request);
KernelOr MakeResize(const KernelRequest& request);
KernelOr MakeDepthToSpace(const KernelRequest& request);
KernelOr MakeSpaceToDepth(const KernelRequest& request);
KernelOr MakePoolingIndices(const KernelRequest& request);
KernelOr MakeGridSample(const KernelRequest& request);
KernelOr MakeRoiAlign(const KernelRequest& request);
KernelOr MakeDet(const KernelRequest& request);
KernelOr MakeRecurrent(const KernelRequest& request);
KernelOr MakeQuantizeLinear(const KernelRequest& request);
KernelOr MakeDequantizeLinear(const KernelRequest& request);

}  // namespace qb::execute
