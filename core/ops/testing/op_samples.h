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
    {OpKind::kPRelu, "PRelu(x, s)"},
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
    {OpKind::kBatchnorm, "Batchnorm(x, v, v, v, p)"},
    {OpKind::kSoftmax, "Softmax(x) {axis=1}"},
    {OpKind::kPooling, "Pooling(x) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2}"},
    {OpKind::kGlobalAveragePooling, "GlobalAveragePooling(x)"},
    {OpKind::kReduceMean, "ReduceMean(x) {reduce_axes=[2, 3]}"},
    {OpKind::kReduceSum, "ReduceSum(x) {reduce_axes=[1], keep_dims=false}"},
    {OpKind::kReduceMax, "ReduceMax(x) {reduce_axes=[3]}"},
    {OpKind::kReduceMin, "ReduceMin(x) {reduce_axes=[3]}"},
    {OpKind::kReshape, "Reshape(x) {new_shape=[1, 144]}"},
    {OpKind::kTranspose, "Transpose(x) {transpose_axes=[0, 2, 3, 1]}"},
    {OpKind::kConcatenate, "Concatenate(x, z, x) {axis=1}"},
    {OpKind::kSlice, "Slice(x) {axis=[1, 2], start=[1, 5], end=[3, -1], step=[1, -2]}"},
    {OpKind::kPad, "Pad(x) {padding_list=[0, 0, 1, 1, 0, 0, 1, 1], constant=0.5}"},
    {OpKind::kExpand, "Expand(v) {shape=[2, 3, 4]}"},
    {OpKind::kGather, "Gather(x, i) {axis=1}"},
    {OpKind::kResize,
     R"(Resize(x) {transform_mode="asymmetric", sizes=[1, 4, 12, 12], scales=[1, 1, 2, 2]})"},
    {OpKind::kDepthToSpace, "DepthToSpace(x) {block_size=2}"},
    {OpKind::kSpaceToDepth, "SpaceToDepth(x) {block_size=2}"},
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
