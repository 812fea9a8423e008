// Batch normalization and affine operators: lower_batch_norm, fold_affine and lower_affine.
#include "core/passes/fold_affine.h"

#include "core/ops/convolution.h"
#include "core/passes/lower_affine.h"
#include "core/passes/lower_batch_norm.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

constexpr char kOperands[] = R"(
    x = Input float32[1x4x6x6]
    l = Input float32[1x6x6x4]
    m = Input float32[3x4]
    w = InputConstant float32[8x4x3x3] random(1)
    wg = InputConstant float32[8x2x3x3] random(2)
    wd = InputConstant float32[8x1x3x3] random(3)
    wl = InputConstant float32[8x3x3x2] random(4)
    b8 = InputConstant float32[8] random(5)
    c8 = InputConstant float32[8x1x1] random(6)
    d8 = InputConstant float32[1x8x1x1] random(7)
    c4 = InputConstant float32[4x1x1] random(8)
    e4 = InputConstant float32[1x4x1x1] random(9)
    v4 = InputConstant float32[4] random(10)
    p4 = InputConstant float32[4] [0.5, 1, 1.5, 2]
    v8 = InputConstant float32[8] random(11)
    p8 = InputConstant float32[8] [0.5, 1, 1.5, 2, 0.1, 3, 1, 1]
    k = InputConstant float32[4x8] random(12)
    s = InputConstant float32[scalar] [3]
    full = InputConstant float32[1x8x6x6] random(13)
)";

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(kOperands, lines, "\n y = Output(r)"));
}

TEST(LowerBatchNorm, BecomesScaleAndShift) {
  Graph graph = GraphOf("r = Batchnorm(x, v4, v4, v4, p4) {epsilon=0.01}");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, LowerBatchNorm));
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kAdding);
  EXPECT_EQ(ResultOf(graph).name(), "r");
  EXPECT_EQ(ResultOf(graph).operand(1)->shape(), Shape({4, 1, 1}));
  Graph last = GraphOf("r = Batchnorm(m, v4, v4, v4, p4) {axis=1}");
  EXPECT_TRUE(ExpectPassPreservesResults(last, LowerBatchNorm));
}

TEST(LowerBatchNorm, KeepsWhatHasNoFiniteScale) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x2x3x3]
    one = InputConstant float32[2] splat(1)
    zero = InputConstant float32[2] splat(0)
    r = Batchnorm(x, one, one, one, zero) {epsilon=0.0}
    y = Output(r)
  )");
  QB_ASSERT_OK_AND_ASSIGN(const bool changed, LowerBatchNorm(graph));
  EXPECT_FALSE(changed);
}

// Everything around one convolution or product disappears into it.
TEST(FoldAffine, FoldsBothSides) {
  for (const char* lines : {
           "a = Convolution(x, w) {h_kernel=3, w_kernel=3}  r = Multiply(a, c8)",
           "a = Convolution(x, w, b8) {h_kernel=3, w_kernel=3, north_padding=1} r = Multiply(a, s)",
           "a = Convolution(x, w, b8) {h_kernel=3, w_kernel=3}  r = Adding(a, d8)",
           "a = Convolution(x, w) {h_kernel=3, w_kernel=3} b = Multiply(a, c8) r = Adding(b, c8)",
           "a = Convolution(x, wg) {h_kernel=3, w_kernel=3, group_number=2} r = Multiply(a, c8)",
           ("a = Multiply(x, c4) b = Adding(a, e4) r = Convolution(b, w, b8) {h_kernel=3, "
            "w_kernel=3}"),
           "a = Multiply(x, c4) r = Convolution(a, w) {h_kernel=3, w_kernel=3, west_padding=1}",
           "a = Adding(x, c4) r = Convolution(a, wg) {h_kernel=3, w_kernel=3, group_number=2}",
           "a = Adding(x, c4) r = Convolution(a, wd) {h_kernel=3, w_kernel=3, group_number=4}",
           ("a = Adding(l, v4) b = Convolution(a, wl) {h_kernel=3, w_kernel=3, group_number=2, "
            "channel_last=true} r = Multiply(b, v8)"),
           "a = MatMul(m, k) b = Multiply(a, v8) r = Adding(b, v8)",
           "a = Multiply(m, v4) b = Adding(a, v4) r = MatMul(b, k, b8)",
       }) {
    SCOPED_TRACE(lines);
    Graph graph = GraphOf(lines);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldAffine));
    EXPECT_EQ(CountOps(graph, OpKind::kMultiply) + CountOps(graph, OpKind::kAdding), 0);
    EXPECT_EQ(ResultOf(graph).name(), "r");
    EXPECT_EQ(ResultOf(graph).operand_count(), 3);
  }
}

TEST(FoldAffine, CarriesTheActivation) {
  Graph graph = GraphOf(
      "a = Convolution(x, w) {h_kernel=3, w_kernel=3} "
      R"(r = Adding(a, c8) {activation="clip", activation_max=1.0})");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldAffine));
  EXPECT_EQ(ResultOf(graph).attrs<ConvolutionAttrs>().activation.max, 1.0f);
}

TEST(FoldAffine, LeavesAlone) {
  for (const char* lines : {
           // Padding does not see the shift.
           "a = Adding(x, c4) r = Convolution(a, w) {h_kernel=3, w_kernel=3, north_padding=1}",
           // One value an element.
           "a = Convolution(x, w) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, "
           "west_padding=1, east_padding=1} r = Adding(a, full)",
           // Something else reads the convolution.
           "a = Convolution(x, w) {h_kernel=3, w_kernel=3} b = Multiply(a, c8) r = Adding(b, a)",
           // The activation lies between.
           "a = Convolution(x, w) {h_kernel=3, w_kernel=3, activation=\"relu\"} "
           "r = Multiply(a, c8)",
           "a = Multiply(x, c4) b = Relu(a) r = Convolution(b, w) {h_kernel=3, w_kernel=3}",
           // Weights that are no constant.
           "a = Reshape(x) {new_shape=[4, 36]} b = MatMul(m, a) r = Multiply(b, s)",
       }) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), FoldAffine);
  }
}

TEST(FoldAffine, DoesNotChangeSharedWeights) {
  Graph graph = GraphOf(
      "a = Convolution(x, w) {h_kernel=3, w_kernel=3} b = Multiply(a, c8) "
      "c = Convolution(x, w) {h_kernel=3, w_kernel=3} r = Adding(b, c)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldAffine));
  EXPECT_EQ(CountOps(graph, OpKind::kConvolution), 2);
}

TEST(LowerAffine, BecomesADepthwiseConvolution) {
  for (const char* lines :
       {"r = Multiply(l, v4)", "r = Adding(l, v4)", "a = Multiply(l, v4) r = Adding(a, v4)",
        "a = Multiply(l, s) r = Adding(a, v4)",
        R"(a = Multiply(l, v4) r = Adding(a, s) {activation="relu"})"}) {
    SCOPED_TRACE(lines);
    Graph graph = GraphOf(lines);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, LowerAffine));
    EXPECT_EQ(ResultOf(graph).op(), OpKind::kConvolution);
    EXPECT_EQ(ResultOf(graph).operand(0)->name(), "l");
    EXPECT_EQ(ResultOf(graph).name(), "r");
  }
}

TEST(LowerAffine, LeavesAlone) {
  for (const char* lines : {"r = Multiply(l, s)", "r = Multiply(x, c4)", "r = Multiply(m, v4)",
                            "r = Multiply(l, l)", "a = Multiply(l, s) r = Adding(a, s)"}) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), LowerAffine);
  }
}

// A transposed convolution takes scales and shifts behind it and scales before it. A shift before
// it would reach the border pixels of the result through fewer taps.
TEST(FoldAffine, TransposeConvolution) {
  constexpr char kSpread[] =
      "{h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, "
      "east_out_padding=1, group_number=2}";
  Graph behind = GraphOf(absl::StrCat("a = TransposeConvolution(x, wg, b8) ", kSpread,
                                      " q = Multiply(a, c8) r = Adding(q, d8)"));
  EXPECT_TRUE(ExpectPassPreservesResults(behind, FoldAffine));
  EXPECT_EQ(ResultOf(behind).op(), OpKind::kTransposeConvolution);
  Graph before =
      GraphOf(absl::StrCat("a = Multiply(x, c4) r = TransposeConvolution(a, wg) ", kSpread));
  EXPECT_TRUE(ExpectPassPreservesResults(before, FoldAffine));
  EXPECT_EQ(CountOps(before, OpKind::kMultiply), 0);
  Graph shifted =
      GraphOf(absl::StrCat("a = Adding(x, c4) r = TransposeConvolution(a, wg) ", kSpread));
  EXPECT_FALSE(ExpectPassPreservesResults(shifted, FoldAffine));
}

}  // namespace
}  // namespace qb
