#include "core/execute/kernels/all_kernels.h"

#include <array>

#include "absl/strings/str_cat.h"

#include "core/execute/kernels/widening.h"
#include "core/ops/op_def.h"

namespace qb::execute {
namespace {

constexpr bool kWidens = true;

constexpr auto kKernels = std::to_array<KernelRow>({
    {OpKind::kInput, NodeRole::kInput, nullptr},
    {OpKind::kInputConstant, NodeRole::kConstant, nullptr},
    {OpKind::kOutput, NodeRole::kAlias, nullptr},
    {OpKind::kIdentity, NodeRole::kAlias, nullptr},
    {OpKind::kCast, NodeRole::kComputed, MakeCast},
    {OpKind::kConvolution, NodeRole::kComputed, MakeConvolution, kWidens},
    {OpKind::kTransposeConvolution, NodeRole::kComputed, MakeTransposeConvolution, kWidens},
    {OpKind::kMatMul, NodeRole::kComputed, MakeMatMul, kWidens},
    {OpKind::kAdding, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kSub, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kMultiply, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kDiv, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kPow, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kMaximum, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kMinimum, NodeRole::kComputed, MakeElementwise, kWidens},
    {OpKind::kMod, NodeRole::kComputed, MakeMod, kWidens},
    {OpKind::kPRelu, NodeRole::kComputed, MakePRelu, kWidens},
    {OpKind::kBitwise, NodeRole::kComputed, MakeBitwise, kWidens},
    {OpKind::kTensorCmp, NodeRole::kComputed, MakeTensorCmp, kWidens},
    {OpKind::kLogical, NodeRole::kComputed, MakeLogical},
    {OpKind::kWhere, NodeRole::kComputed, MakeWhere},
    {OpKind::kRelu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kLeakyRelu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kClip, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSigmoid, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kTanh, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kHardSigmoid, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kHardSwish, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSwish, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kElu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kExp, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kLog, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSqrt, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAbs, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kNeg, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kErf, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kCeil, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kFloor, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSoftplus, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kCelu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSelu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kGelu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kMish, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSoftsign, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kShrink, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kThresholdedRelu, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kRound, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSign, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSin, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kCos, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kTan, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAsin, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAcos, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAtan, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kSinh, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kCosh, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAsinh, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAcosh, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kAtanh, NodeRole::kComputed, MakePointwise, kWidens},
    {OpKind::kBatchnorm, NodeRole::kComputed, MakeBatchnorm, kWidens},
    {OpKind::kSoftmax, NodeRole::kComputed, MakeSoftmax, kWidens},
    {OpKind::kLayerNormalization, NodeRole::kComputed, MakeLayerNormalization, kWidens},
    {OpKind::kRmsNormalization, NodeRole::kComputed, MakeLayerNormalization, kWidens},
    {OpKind::kGroupNormalization, NodeRole::kComputed, MakeGroupNormalization, kWidens},
    {OpKind::kPooling, NodeRole::kComputed, MakePooling, kWidens},
    {OpKind::kGlobalAveragePooling, NodeRole::kComputed, MakeGlobalAveragePooling, kWidens},
    {OpKind::kReduceMean, NodeRole::kComputed, MakeReduce, kWidens},
    {OpKind::kReduceSum, NodeRole::kComputed, MakeReduce, kWidens},
    {OpKind::kReduceMax, NodeRole::kComputed, MakeReduce, kWidens},
    {OpKind::kReduceMin, NodeRole::kComputed, MakeReduce, kWidens},
    {OpKind::kReduceProd, NodeRole::kComputed, MakeReduce, kWidens},
    {OpKind::kArgMax, NodeRole::kComputed, MakeArg, kWidens},
    {OpKind::kArgMin, NodeRole::kComputed, MakeArg, kWidens},
    {OpKind::kTopKValues, NodeRole::kComputed, MakeTopK, kWidens},
    {OpKind::kTopKIndices, NodeRole::kComputed, MakeTopK, kWidens},
    {OpKind::kCumSum, NodeRole::kComputed, MakeCumSum, kWidens},
    {OpKind::kReshape, NodeRole::kAlias, nullptr},
    {OpKind::kTranspose, NodeRole::kComputed, MakeTranspose},
    {OpKind::kConcatenate, NodeRole::kComputed, MakeConcatenate},
    {OpKind::kSlice, NodeRole::kComputed, MakeSlice},
    {OpKind::kPad, NodeRole::kComputed, MakePad},
    {OpKind::kExpand, NodeRole::kComputed, MakeExpand},
    {OpKind::kGather, NodeRole::kComputed, MakeGather},
    {OpKind::kGatherElements, NodeRole::kComputed, MakeGatherElements},
    {OpKind::kGatherND, NodeRole::kComputed, MakeGatherND},
    {OpKind::kScatterElements, NodeRole::kComputed, MakeScatterElements, kWidens},
    {OpKind::kScatterND, NodeRole::kComputed, MakeScatterND, kWidens},
    {OpKind::kReverseSequence, NodeRole::kComputed, MakeReverseSequence},
    {OpKind::kNonZero, NodeRole::kComputed, MakeNonZero, kWidens},
    {OpKind::kCountUsed, NodeRole::kComputed, MakeCountUsed},
    {OpKind::kTrim, NodeRole::kAlias, nullptr},
    {OpKind::kUnique, NodeRole::kComputed, MakeUnique, kWidens},
    {OpKind::kNonMaxSuppression, NodeRole::kComputed, MakeNonMaxSuppression},
    {OpKind::kResize, NodeRole::kComputed, MakeResize, kWidens},
    {OpKind::kDepthToSpace, NodeRole::kComputed, MakeDepthToSpace},
    {OpKind::kSpaceToDepth, NodeRole::kComputed, MakeSpaceToDepth},
    {OpKind::kPoolingIndices, NodeRole::kComputed, MakePoolingIndices, kWidens},
    {OpKind::kGridSample, NodeRole::kComputed, MakeGridSample, kWidens},
    {OpKind::kRoiAlign, NodeRole::kComputed, MakeRoiAlign, kWidens},
    {OpKind::kDet, NodeRole::kComputed, MakeDet, kWidens},
    {OpKind::kLSTM, NodeRole::kComputed, MakeRecurrent, kWidens},
    {OpKind::kGRU, NodeRole::kComputed, MakeRecurrent, kWidens},
    {OpKind::kRNN, NodeRole::kComputed, MakeRecurrent, kWidens},
    {OpKind::kQuantizeLinear, NodeRole::kComputed, MakeQuantizeLinear},
    {OpKind::kDequantizeLinear, NodeRole::kComputed, MakeDequantizeLinear},
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
  const bool widens = row.widens && NeedsWidening(request);
  KernelOr kernel = widens ? MakeWidened(request, row.make) : row.make(request);
  if (absl::IsUnimplemented(kernel.status()) && row.widens && !widens &&
      IsInDoublePrecision(request)) {
    kernel = MakeWidened(request, row.make);
  }
  if (!kernel.ok()) {
    return absl::Status(kernel.status().code(), absl::StrCat("node '", request.node->name(), "' (",
                                                             OpDefOf(request.node->op()).name,
                                                             "): ", kernel.status().message()));
  }
  return kernel;
}

}  // namespace qb::execute
