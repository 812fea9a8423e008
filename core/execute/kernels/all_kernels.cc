#include "core/execute/kernels/all_kernels.h"

#include <array>

#include "absl/strings/str_cat.h"

#include "core/ops/op_def.h"

namespace qb::execute {
namespace {

constexpr auto kKernels = std::to_array<KernelRow>({
    {OpKind::kInput, NodeRole::kInput, nullptr},
    {OpKind::kInputConstant, NodeRole::kConstant, nullptr},
    {OpKind::kOutput, NodeRole::kAlias, nullptr},
    {OpKind::kIdentity, NodeRole::kAlias, nullptr},
    {OpKind::kCast, NodeRole::kComputed, MakeCast},
    {OpKind::kConvolution, NodeRole::kComputed, MakeConvolution},
    {OpKind::kTransposeConvolution, NodeRole::kComputed, MakeTransposeConvolution},
    {OpKind::kMatMul, NodeRole::kComputed, MakeMatMul},
    {OpKind::kAdding, NodeRole::kComputed, MakeElementwise},
    {OpKind::kSub, NodeRole::kComputed, MakeElementwise},
    {OpKind::kMultiply, NodeRole::kComputed, MakeElementwise},
    {OpKind::kDiv, NodeRole::kComputed, MakeElementwise},
    {OpKind::kPow, NodeRole::kComputed, MakeElementwise},
    {OpKind::kMaximum, NodeRole::kComputed, MakeElementwise},
    {OpKind::kMinimum, NodeRole::kComputed, MakeElementwise},
    {OpKind::kPRelu, NodeRole::kComputed, MakePRelu},
    {OpKind::kRelu, NodeRole::kComputed, MakePointwise},
    {OpKind::kLeakyRelu, NodeRole::kComputed, MakePointwise},
    {OpKind::kClip, NodeRole::kComputed, MakePointwise},
    {OpKind::kSigmoid, NodeRole::kComputed, MakePointwise},
    {OpKind::kTanh, NodeRole::kComputed, MakePointwise},
    {OpKind::kHardSigmoid, NodeRole::kComputed, MakePointwise},
    {OpKind::kHardSwish, NodeRole::kComputed, MakePointwise},
    {OpKind::kSwish, NodeRole::kComputed, MakePointwise},
    {OpKind::kElu, NodeRole::kComputed, MakePointwise},
    {OpKind::kExp, NodeRole::kComputed, MakePointwise},
    {OpKind::kLog, NodeRole::kComputed, MakePointwise},
    {OpKind::kSqrt, NodeRole::kComputed, MakePointwise},
    {OpKind::kAbs, NodeRole::kComputed, MakePointwise},
    {OpKind::kNeg, NodeRole::kComputed, MakePointwise},
    {OpKind::kErf, NodeRole::kComputed, MakePointwise},
    {OpKind::kCeil, NodeRole::kComputed, MakePointwise},
    {OpKind::kFloor, NodeRole::kComputed, MakePointwise},
    {OpKind::kSoftplus, NodeRole::kComputed, MakePointwise},
    {OpKind::kBatchnorm, NodeRole::kComputed, MakeBatchnorm},
    {OpKind::kSoftmax, NodeRole::kComputed, MakeSoftmax},
    {OpKind::kPooling, NodeRole::kComputed, MakePooling},
    {OpKind::kGlobalAveragePooling, NodeRole::kComputed, MakeGlobalAveragePooling},
    {OpKind::kReduceMean, NodeRole::kComputed, MakeReduce},
    {OpKind::kReduceSum, NodeRole::kComputed, MakeReduce},
    {OpKind::kReduceMax, NodeRole::kComputed, MakeReduce},
    {OpKind::kReduceMin, NodeRole::kComputed, MakeReduce},
    {OpKind::kReshape, NodeRole::kAlias, nullptr},
    {OpKind::kTranspose, NodeRole::kComputed, MakeTranspose},
    {OpKind::kConcatenate, NodeRole::kComputed, MakeConcatenate},
    {OpKind::kSlice, NodeRole::kComputed, MakeSlice},
    {OpKind::kPad, NodeRole::kComputed, MakePad},
    {OpKind::kExpand, NodeRole::kComputed, MakeExpand},
    {OpKind::kGather, NodeRole::kComputed, MakeGather},
    {OpKind::kResize, NodeRole::kComputed, MakeResize},
    {OpKind::kDepthToSpace, NodeRole::kComputed, MakeDepthToSpace},
    {OpKind::kSpaceToDepth, NodeRole::kComputed, MakeSpaceToDepth},
});
static_assert(kKernels.size() == static_cast<size_t>(OpKind::kCount), "an OpKind has no row");

constexpr bool RowsAreInEnumOrder() {
  for (size_t i = 0; i < kKernels.size(); ++i) {
    if (static_cast<size_t>(kKernels[i].kind) != i) {
      return false;
    }
  }
  return true;
}
static_assert(RowsAreInEnumOrder(), "KernelRowOf indexes the table by OpKind");

}  // namespace

const KernelRow& KernelRowOf(OpKind kind) { return kKernels[static_cast<size_t>(kind)]; }

KernelOr MakeKernel(const KernelRequest& request) {
  const KernelRow& row = KernelRowOf(request.node->op());
  QB_CHECK(row.role == NodeRole::kComputed);
  if (request.node->shape().elements() == 0) {
    return MakeBodyKernel([](const KernelArgs&) {});
  }
  KernelOr kernel = row.make(request);
  if (!kernel.ok()) {
    return absl::Status(kernel.status().code(), absl::StrCat("node '", request.node->name(), "' (",
                                                             OpDefOf(request.node->op()).name,
                                                             "): ", kernel.status().message()));
  }
  return kernel;
}

}  // namespace qb::execute
