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
KernelOr MakePRelu(const KernelRequest& request);
KernelOr MakePointwise(const KernelRequest& request);
KernelOr MakeBatchnorm(const KernelRequest& request);
KernelOr MakeSoftmax(const KernelRequest& request);
KernelOr MakePooling(const KernelRequest& request);
KernelOr MakeGlobalAveragePooling(const KernelRequest& request);
KernelOr MakeReduce(const KernelRequest& request);
KernelOr MakeTranspose(const KernelRequest& request);
KernelOr MakeConcatenate(const KernelRequest& request);
KernelOr MakeSlice(const KernelRequest& request);
KernelOr MakePad(const KernelRequest& request);
KernelOr MakeExpand(const KernelRequest& request);
KernelOr MakeGather(const KernelRequest& request);
KernelOr MakeResize(const KernelRequest& request);
KernelOr MakeDepthToSpace(const KernelRequest& request);
KernelOr MakeSpaceToDepth(const KernelRequest& request);

}  // namespace qb::execute
