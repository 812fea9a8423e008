// The table of all operators: the one place that joins an OpKind with its name, arity, attributes
// and inference.
#include <array>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/ops/indexing.h"
#include "core/ops/logic.h"
#include "core/ops/matmul.h"
#include "core/ops/movement.h"
#include "core/ops/normalization.h"
#include "core/ops/op_def.h"
#include "core/ops/pointwise.h"
#include "core/ops/pooling.h"
#include "core/ops/prelu.h"
#include "core/ops/quantize_linear.h"
#include "core/ops/recurrent.h"
#include "core/ops/reduce.h"
#include "core/ops/sampling.h"
#include "core/ops/search.h"
#include "core/ops/selection.h"
#include "core/ops/transpose_convolution.h"

namespace qb {
namespace {

template <typename A>
std::unique_ptr<Attributes> Make() {
  return std::make_unique<A>();
}

// Inputs and constants have the type that they are made with.
absl::StatusOr<TensorType> InferSource(const InferenceInput&) {
  return absl::InvalidArgumentError("its type is given, not inferred; accepted: other operators");
}

constexpr auto kOps = std::to_array<OpDef>({
    {OpKind::kInput, "Input", 0, 0, Make<NoAttrs>, InferSource},
    {OpKind::kInputConstant, "InputConstant", 0, 0, Make<NoAttrs>, InferSource},
    {OpKind::kOutput, "Output", 1, 1, Make<NoAttrs>, InferPointwise},
    {OpKind::kIdentity, "Identity", 1, 1, Make<NoAttrs>, InferPointwise},
    {OpKind::kCast, "Cast", 1, 1, Make<CastAttrs>, InferCast},
    {OpKind::kConvolution, "Convolution", 2, 3, Make<ConvolutionAttrs>, InferConvolution},
    {OpKind::kTransposeConvolution, "TransposeConvolution", 2, 3, Make<TransposeConvolutionAttrs>,
     InferTransposeConvolution},
    {OpKind::kMatMul, "MatMul", 2, 3, Make<MatMulAttrs>, InferMatMul},
    {OpKind::kAdding, "Adding", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kSub, "Sub", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kMultiply, "Multiply", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kDiv, "Div", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kPow, "Pow", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kMaximum, "Maximum", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kMinimum, "Minimum", 2, 2, Make<ElementwiseAttrs>, InferElementwise},
    {OpKind::kMod, "Mod", 2, 2, Make<ModAttrs>, InferMod},
    {OpKind::kPRelu, "PRelu", 2, 2, Make<NoAttrs>, InferPRelu},
    {OpKind::kBitwise, "Bitwise", 2, 2, Make<BitwiseAttrs>, InferBitwise},
    {OpKind::kTensorCmp, "TensorCmp", 2, 2, Make<TensorCmpAttrs>, InferTensorCmp},
    {OpKind::kLogical, "Logical", 1, 2, Make<LogicalAttrs>, InferLogical},
    {OpKind::kWhere, "Where", 3, 3, Make<NoAttrs>, InferWhere},
    {OpKind::kRelu, "Relu", 1, 1, Make<NoAttrs>, InferNumericPointwise},
    {OpKind::kLeakyRelu, "LeakyRelu", 1, 1, Make<LeakyReluAttrs>, InferFloatPointwise},
    {OpKind::kClip, "Clip", 1, 1, Make<ClipAttrs>, InferClip},
    {OpKind::kSigmoid, "Sigmoid", 1, 1, Make<SigmoidAttrs>, InferFloatPointwise},
    {OpKind::kTanh, "Tanh", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kHardSigmoid, "HardSigmoid", 1, 1, Make<HardSigmoidAttrs>, InferFloatPointwise},
    {OpKind::kHardSwish, "HardSwish", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kSwish, "Swish", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kElu, "Elu", 1, 1, Make<EluAttrs>, InferFloatPointwise},
    {OpKind::kExp, "Exp", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kLog, "Log", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kSqrt, "Sqrt", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAbs, "Abs", 1, 1, Make<NoAttrs>, InferNumericPointwise},
    {OpKind::kNeg, "Neg", 1, 1, Make<NoAttrs>, InferNumericPointwise},
    {OpKind::kErf, "Erf", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kCeil, "Ceil", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kFloor, "Floor", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kSoftplus, "Softplus", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kCelu, "Celu", 1, 1, Make<CeluAttrs>, InferFloatPointwise},
    {OpKind::kSelu, "Selu", 1, 1, Make<SeluAttrs>, InferFloatPointwise},
    {OpKind::kGelu, "Gelu", 1, 1, Make<GeluAttrs>, InferFloatPointwise},
    {OpKind::kMish, "Mish", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kSoftsign, "Softsign", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kShrink, "Shrink", 1, 1, Make<ShrinkAttrs>, InferNumericPointwise},
    {OpKind::kThresholdedRelu, "ThresholdedRelu", 1, 1, Make<ThresholdedReluAttrs>,
     InferFloatPointwise},
    {OpKind::kRound, "Round", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kSign, "Sign", 1, 1, Make<NoAttrs>, InferNumericPointwise},
    {OpKind::kSin, "Sin", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kCos, "Cos", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kTan, "Tan", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAsin, "Asin", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAcos, "Acos", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAtan, "Atan", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kSinh, "Sinh", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kCosh, "Cosh", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAsinh, "Asinh", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAcosh, "Acosh", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kAtanh, "Atanh", 1, 1, Make<NoAttrs>, InferFloatPointwise},
    {OpKind::kBatchnorm, "Batchnorm", 5, 5, Make<BatchnormAttrs>, InferBatchnorm},
    {OpKind::kSoftmax, "Softmax", 1, 1, Make<SoftmaxAttrs>, InferSoftmax},
    {OpKind::kLayerNormalization, "LayerNormalization", 2, 3, Make<LayerNormalizationAttrs>,
     InferLayerNormalization},
    {OpKind::kRmsNormalization, "RmsNormalization", 2, 2, Make<RmsNormalizationAttrs>,
     InferRmsNormalization},
    {OpKind::kGroupNormalization, "GroupNormalization", 3, 3, Make<GroupNormalizationAttrs>,
     InferGroupNormalization},
    {OpKind::kPooling, "Pooling", 1, 1, Make<PoolingAttrs>, InferPooling},
    {OpKind::kGlobalAveragePooling, "GlobalAveragePooling", 1, 1, Make<GlobalAveragePoolingAttrs>,
     InferGlobalAveragePooling},
    {OpKind::kReduceMean, "ReduceMean", 1, 1, Make<ReduceAttrs>, InferReduce},
    {OpKind::kReduceSum, "ReduceSum", 1, 1, Make<ReduceAttrs>, InferReduce},
    {OpKind::kReduceMax, "ReduceMax", 1, 1, Make<ReduceAttrs>, InferReduce},
    {OpKind::kReduceMin, "ReduceMin", 1, 1, Make<ReduceAttrs>, InferReduce},
    {OpKind::kReduceProd, "ReduceProd", 1, 1, Make<ReduceAttrs>, InferReduce},
    {OpKind::kArgMax, "ArgMax", 1, 1, Make<ArgAttrs>, InferArg},
    {OpKind::kArgMin, "ArgMin", 1, 1, Make<ArgAttrs>, InferArg},
    {OpKind::kTopKValues, "TopKValues", 1, 1, Make<TopKAttrs>, InferTopKValues},
    {OpKind::kTopKIndices, "TopKIndices", 1, 1, Make<TopKAttrs>, InferTopKIndices},
    {OpKind::kCumSum, "CumSum", 1, 1, Make<CumSumAttrs>, InferCumSum},
    {OpKind::kReshape, "Reshape", 1, 1, Make<ReshapeAttrs>, InferReshape},
    {OpKind::kTranspose, "Transpose", 1, 1, Make<TransposeAttrs>, InferTranspose},
    {OpKind::kConcatenate, "Concatenate", 1, kVariadic, Make<ConcatenateAttrs>, InferConcatenate},
    {OpKind::kSlice, "Slice", 1, 1, Make<SliceAttrs>, InferSlice},
    {OpKind::kPad, "Pad", 1, 1, Make<PadAttrs>, InferPad},
    {OpKind::kExpand, "Expand", 1, 1, Make<ExpandAttrs>, InferExpand},
    {OpKind::kGather, "Gather", 2, 2, Make<GatherAttrs>, InferGather},
    {OpKind::kGatherElements, "GatherElements", 2, 2, Make<GatherAttrs>, InferGatherElements},
    {OpKind::kGatherND, "GatherND", 2, 2, Make<GatherNDAttrs>, InferGatherND},
    {OpKind::kScatterElements, "ScatterElements", 3, 3, Make<ScatterElementsAttrs>,
     InferScatterElements},
    {OpKind::kScatterND, "ScatterND", 3, 3, Make<ScatterNDAttrs>, InferScatterND},
    {OpKind::kReverseSequence, "ReverseSequence", 2, 2, Make<ReverseSequenceAttrs>,
     InferReverseSequence},
    {OpKind::kNonZero, "NonZero", 1, 1, Make<NoAttrs>, InferNonZero},
    {OpKind::kCountUsed, "CountUsed", 1, 1, Make<NoAttrs>, InferCountUsed},
    {OpKind::kTrim, "Trim", 2, 2, Make<TrimAttrs>, InferTrim},
    {OpKind::kUnique, "Unique", 1, 1, Make<UniqueAttrs>, InferUnique},
    {OpKind::kNonMaxSuppression, "NonMaxSuppression", 2, 2, Make<NonMaxSuppressionAttrs>,
     InferNonMaxSuppression},
    {OpKind::kResize, "Resize", 1, 1, Make<ResizeAttrs>, InferResize},
    {OpKind::kDepthToSpace, "DepthToSpace", 1, 1, Make<DepthSpaceAttrs>, InferDepthToSpace},
    {OpKind::kSpaceToDepth, "SpaceToDepth", 1, 1, Make<DepthSpaceAttrs>, InferSpaceToDepth},
    {OpKind::kPoolingIndices, "PoolingIndices", 1, 1, Make<PoolingAttrs>, InferPoolingIndices},
    {OpKind::kGridSample, "GridSample", 2, 2, Make<GridSampleAttrs>, InferGridSample},
    {OpKind::kRoiAlign, "RoiAlign", 3, 3, Make<RoiAlignAttrs>, InferRoiAlign},
    {OpKind::kDet, "Det", 1, 1, Make<NoAttrs>, InferDet},
    {OpKind::kLSTM, "LSTM", 7, 8, Make<RecurrentAttrs>, InferLstm},
    {OpKind::kGRU, "GRU", 5, 6, Make<RecurrentAttrs>, InferGru},
    {OpKind::kRNN, "RNN", 5, 6, Make<RecurrentAttrs>, InferRnn},
    {OpKind::kQuantizeLinear, "QuantizeLinear", 3, 3, Make<QuantizeLinearAttrs>,
     InferQuantizeLinear},
    {OpKind::kDequantizeLinear, "DequantizeLinear", 3, 3, Make<QuantizeLinearAttrs>,
     InferDequantizeLinear},
});

constexpr bool InEnumOrder() {
  for (size_t i = 0; i < kOps.size(); ++i) {
    if (kOps[i].kind != static_cast<OpKind>(i)) {
      return false;
    }
  }
  return true;
}

static_assert(kOps.size() == static_cast<size_t>(OpKind::kCount), "an OpKind has no row");
static_assert(InEnumOrder(), "the rows are not in the order of OpKind");

}  // namespace

absl::Span<const OpDef> AllOps() { return kOps; }

const OpDef& OpDefOf(OpKind kind) {
  QB_CHECK(kind < OpKind::kCount);
  return kOps[static_cast<size_t>(kind)];
}

const OpDef* FindOpDef(absl::string_view name) {
  for (const OpDef& def : kOps) {
    if (def.name == name) {
      return &def;
    }
  }
  return nullptr;
}

}  // namespace qb
