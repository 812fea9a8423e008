// One small valid use of every operator, for tests that must cover the whole set.
#pragma once

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "core/ir/graph.h"
#include "core/ops/graph_text.h"

namespace qb::testing {

// An expression over the nodes of kSampleOperands.
struct OpSample {
  OpKind kind;
  const char* expression;
};

inline constexpr char kSampleOperands[] = R"(
  x = Input float32[1x4x6x6]
  z = Input float32[1x4x6x6]
  m = Input float32[2x4]
  w = InputConstant float32[8x4x3x3] random(1)
  b = InputConstant float32[8] random(2)
  v = InputConstant float32[4] random(3)
  p = InputConstant float32[4] [0.5, 1, 1.5, 2]
  s = InputConstant float32[4x1x1] random(5)
  k = InputConstant float32[4x3] random(4)
  two = InputConstant float32[scalar] [2]
  i = InputConstant int64[2] [1, -1]
  n = InputConstant int64[2x1] [1, -1]
  t = InputConstant bool[2x4] [1, 0, 1, 1, 0, 0, 1, 0]
  q = Input float32[2x4]
  i2 = InputConstant float32[2] [3, 4]
  i3 = InputConstant int64[2] [2, 4]
  i4 = InputConstant int64[1] [0]
  one = InputConstant int64[scalar] [1]
  boxes = InputConstant float32[1x3x4] [0, 0, 1, 1, 0, 0, 1, 0.9, 2, 2, 3, 3]
  scores = InputConstant float32[1x1x3] [0.5, 0.75, 0.25]
  grid = InputConstant float32[1x2x2x2] [-1, -1, 0, 0.5, 0.25, 1, 1, -0.5]
  rois = InputConstant float32[1x4] [0, 0, 4, 3]
  seq = Input float32[3x1x2]
  h0 = InputConstant float32[1x1x2] [0.5, -0.5]
  l8 = InputConstant float32[1x8x2] random(6)
  l16 = InputConstant float32[1x16] random(7)
  l6 = InputConstant float32[1x6] random(8)
  g6 = InputConstant float32[1x6x2] random(9)
  g12 = InputConstant float32[1x12] random(10)
  r2 = InputConstant float32[1x2x2] random(11)
  r4 = InputConstant float32[1x4] random(12)
  scale = InputConstant float32[scalar] [0.125]
  zero = InputConstant uint8[scalar] [128]
  zero4 = InputConstant int8[4x2] [1, 2, 3, 4, 5, 6, 7, 8]
  zeros = InputConstant int8[4] [0, 1, 0, -1]
)";

// Input, InputConstant and Output are part of every sample.
inline constexpr auto kOpSamples = std::to_array<OpSample>({
    {OpKind::kIdentity, "Identity(x)"},
    {OpKind::kCast, R"(Cast(i) {dtype="float32"})"},
    {OpKind::kConvolution,
     R"(Convolution(x, w, b) {h_kernel=3, w_kernel=3, north_padding=1, activation="relu"})"},
    {OpKind::kTransposeConvolution,
     R"(TransposeConvolution(x, w, b) {h_kernel=3, w_kernel=3, h_stride=2, south_out_padding=1})"},
    {OpKind::kMatMul, "MatMul(m, k)"},
    {OpKind::kAdding, "Adding(x, z)"},
    {OpKind::kSub, "Sub(x, z)"},
    {OpKind::kMultiply, "Multiply(x, two)"},
    {OpKind::kDiv, "Div(x, two)"},
    {OpKind::kPow, "Pow(x, two)"},
    {OpKind::kMaximum, "Maximum(x, z)"},
    {OpKind::kMinimum, "Minimum(x, z)"},
    {OpKind::kMod, "Mod(m, q) {fmod=true}"},
    {OpKind::kPRelu, "PRelu(x, s)"},
    {OpKind::kBitwise, R"(Bitwise(i, n) {kind="xor"})"},
    {OpKind::kTensorCmp, R"(TensorCmp(m, q) {kind="le"})"},
    {OpKind::kLogical, R"(Logical(t) {kind="not"})"},
    {OpKind::kWhere, "Where(t, m, q)"},
    {OpKind::kRelu, "Relu(x)"},
    {OpKind::kLeakyRelu, "LeakyRelu(x) {leaky_alpha=0.2}"},
    {OpKind::kClip, "Clip(x) {clip_min_value=-0.5, clip_max_value=0.5}"},
    {OpKind::kSigmoid, "Sigmoid(x)"},
    {OpKind::kTanh, "Tanh(x)"},
    {OpKind::kHardSigmoid, "HardSigmoid(x)"},
    {OpKind::kHardSwish, "HardSwish(x)"},
    {OpKind::kSwish, "Swish(x)"},
    {OpKind::kElu, "Elu(x)"},
    {OpKind::kExp, "Exp(x)"},
    {OpKind::kLog, "Log(p)"},
    {OpKind::kSqrt, "Sqrt(p)"},
    {OpKind::kAbs, "Abs(x)"},
    {OpKind::kNeg, "Neg(x)"},
    {OpKind::kErf, "Erf(x)"},
    {OpKind::kCeil, "Ceil(x)"},
    {OpKind::kFloor, "Floor(x)"},
    {OpKind::kSoftplus, "Softplus(x)"},
    {OpKind::kCelu, "Celu(x) {alpha=0.5}"},
    {OpKind::kSelu, "Selu(x)"},
    {OpKind::kGelu, "Gelu(x)"},
    {OpKind::kMish, "Mish(x)"},
    {OpKind::kSoftsign, "Softsign(x)"},
    {OpKind::kShrink, "Shrink(x) {bias=0.5}"},
    {OpKind::kThresholdedRelu, "ThresholdedRelu(x) {alpha=0.25}"},
    {OpKind::kRound, "Round(x)"},
    {OpKind::kSign, "Sign(x)"},
    {OpKind::kSin, "Sin(x)"},
    {OpKind::kCos, "Cos(x)"},
    {OpKind::kTan, "Tan(x)"},
    {OpKind::kAsin, "Asin(x)"},
    {OpKind::kAcos, "Acos(x)"},
    {OpKind::kAtan, "Atan(x)"},
    {OpKind::kSinh, "Sinh(x)"},
    {OpKind::kCosh, "Cosh(x)"},
    {OpKind::kAsinh, "Asinh(x)"},
    {OpKind::kAcosh, "Acosh(p)"},
    {OpKind::kAtanh, "Atanh(x)"},
    {OpKind::kBatchnorm, "Batchnorm(x, v, v, v, p)"},
    {OpKind::kSoftmax, "Softmax(x) {axis=1}"},
    {OpKind::kLayerNormalization, "LayerNormalization(m, p, v) {axis=1}"},
    {OpKind::kRmsNormalization, "RmsNormalization(m, p) {axis=1}"},
    {OpKind::kGroupNormalization, "GroupNormalization(x, p, v) {num_groups=2}"},
    {OpKind::kPooling, "Pooling(x) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2}"},
    {OpKind::kGlobalAveragePooling, "GlobalAveragePooling(x)"},
    {OpKind::kReduceMean, "ReduceMean(x) {reduce_axes=[2, 3]}"},
    {OpKind::kReduceSum, "ReduceSum(x) {reduce_axes=[1], keep_dims=false}"},
    {OpKind::kReduceMax, "ReduceMax(x) {reduce_axes=[3]}"},
    {OpKind::kReduceMin, "ReduceMin(x) {reduce_axes=[3]}"},
    {OpKind::kReduceProd, "ReduceProd(x) {reduce_axes=[3]}"},
    {OpKind::kArgMax, "ArgMax(x) {axis=1, keep_dims=false}"},
    {OpKind::kArgMin, "ArgMin(x) {axis=3, select_last=true}"},
    {OpKind::kTopKValues, "TopKValues(x) {axis=2, k=3}"},
    {OpKind::kTopKIndices, "TopKIndices(x) {axis=2, k=3, largest=false}"},
    {OpKind::kCumSum, "CumSum(x) {axis=1, exclusive=true}"},
    {OpKind::kReshape, "Reshape(x) {new_shape=[1, 144]}"},
    {OpKind::kTranspose, "Transpose(x) {transpose_axes=[0, 2, 3, 1]}"},
    {OpKind::kConcatenate, "Concatenate(x, z, x) {axis=1}"},
    {OpKind::kSlice, "Slice(x) {axis=[1, 2], start=[1, 5], end=[3, -1], step=[1, -2]}"},
    {OpKind::kPad, "Pad(x) {padding_list=[0, 0, 1, 1, 0, 0, 1, 1], constant=0.5}"},
    {OpKind::kExpand, "Expand(v) {shape=[2, 3, 4]}"},
    {OpKind::kGather, "Gather(x, i) {axis=1}"},
    {OpKind::kGatherElements, "GatherElements(m, n) {axis=1}"},
    {OpKind::kGatherND, "GatherND(m, n)"},
    {OpKind::kScatterElements, R"(ScatterElements(v, i, i2) {reduction="add"})"},
    {OpKind::kScatterND, "ScatterND(v, n, i2)"},
    {OpKind::kReverseSequence, "ReverseSequence(m, i3) {batch_axis=0, time_axis=1}"},
    {OpKind::kNonZero, "NonZero(m)"},
    {OpKind::kCountUsed, "CountUsed(i)"},
    {OpKind::kTrim, "Trim(m, one) {axis=1}"},
    {OpKind::kUnique, R"(Unique(m) {axis=1, part="counts"})"},
    {OpKind::kNonMaxSuppression,
     "NonMaxSuppression(boxes, scores) {max_output_size=2, iou_threshold=0.5}"},
    {OpKind::kResize,
     R"(Resize(x) {transform_mode="asymmetric", sizes=[1, 4, 12, 12], scales=[1, 1, 2, 2]})"},
    {OpKind::kDepthToSpace, "DepthToSpace(x) {block_size=2}"},
    {OpKind::kSpaceToDepth, "SpaceToDepth(x) {block_size=2}"},
    {OpKind::kPoolingIndices, "PoolingIndices(x) {h_kernel=2, w_kernel=2, h_stride=2}"},
    {OpKind::kGridSample, R"(GridSample(x, grid) {mode="cubic", padding_mode="border"})"},
    {OpKind::kRoiAlign, "RoiAlign(x, rois, i4) {output_height=2, sampling_ratio=2}"},
    {OpKind::kDet, "Det(x)"},
    {OpKind::kLSTM,
     R"(LSTM(seq, l8, l8, l16, h0, h0, l6) {hidden_size=2, activations="Sigmoid,Tanh,Tanh",)"
     " activation_alpha=[0, 0, 0], activation_beta=[0, 0, 0]}"},
    {OpKind::kGRU,
     R"(GRU(seq, g6, g6, g12, h0) {hidden_size=2, activations="Sigmoid,Tanh", clip=2.5,)"
     " activation_alpha=[0, 0], activation_beta=[0, 0], linear_before_reset=true}"},
    {OpKind::kRNN,
     R"(RNN(seq, r2, r2, r4, h0) {direction="reverse", hidden_size=2, activations="Tanh",)"
     " activation_alpha=[0], activation_beta=[0]}"},
    {OpKind::kQuantizeLinear, "QuantizeLinear(m, scale, zero)"},
    {OpKind::kDequantizeLinear, "DequantizeLinear(zero4, p, zeros) {axis=0}"},
});

// A graph of one output "y" that is `expression` over the sample operands.
inline absl::StatusOr<Graph> GraphOfSample(absl::string_view expression) {
  return GraphFromText(absl::StrCat("graph \"sample\" {", kSampleOperands, "  r = ", expression,
                                    "\n  y = Output(r)\n}\n"));
}

// The type of `expression`, over nodes that `declarations` (lines of the text form) declare.
inline absl::StatusOr<TensorType> TypeOf(absl::string_view declarations,
                                         absl::string_view expression) {
  absl::StatusOr<Graph> graph = GraphFromText(
      absl::StrCat("graph \"t\" {\n", declarations, "\nr = ", expression, "\ny = Output(r)\n}"));
  if (!graph.ok()) {
    return graph.status();
  }
  return graph->FindNode("r")->type();
}

}  // namespace qb::testing
