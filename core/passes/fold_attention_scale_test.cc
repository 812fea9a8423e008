#include "core/passes/fold_attention_scale.h"

#include "core/ops/normalization.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x5x8]
    q = Input float32[1x2x5x4]
    k = Input float32[1x2x4x5]
    w = InputConstant float32[8x8] random(1)
    b = InputConstant float32[8] random(2)
    mask = InputConstant float32[5x5] random(3)
    scale = InputConstant float32[1] [0.25]
    minus = InputConstant float32[scalar] [-0.25]
    )",
                                lines, "\n y = Output(r)"));
}

constexpr char kHeads[] =
    "l = MatMul(x, w, b) h = Reshape(l) {new_shape=[1, 5, 2, 4]} "
    "t = Transpose(h) {transpose_axes=[0, 2, 1, 3]} ";

TEST(FoldAttentionScale, IntoTheProductBehindMovement) {
  for (const char* rest : {"r = Multiply(t, scale)", "m = MatMul(t, k) r = Multiply(m, scale)",
                           "m = MatMul(t, k) r = Multiply(m, minus)",
                           "u = Transpose(t) {transpose_axes=[0, 1, 3, 2]} m = MatMul(q, u) "
                           "r = Multiply(m, scale)"}) {
    SCOPED_TRACE(rest);
    Graph graph = GraphOf(absl::StrCat(kHeads, rest));
    EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldAttentionScale));
    EXPECT_EQ(CountOps(graph, OpKind::kMultiply), 0);
    EXPECT_EQ(ResultOf(graph).name(), "r");
    EXPECT_EQ(graph.FindNode("t"), nullptr);  // its values are others now
    EXPECT_NE(graph.FindNode("l/scaled"), nullptr);
  }
}

TEST(FoldAttentionScale, IntoTheSoftmax) {
  for (const char* lines : {
           "m = MatMul(q, k) s = Multiply(m, scale) r = Softmax(s) {axis=3}",
           "a = Multiply(q, scale) m = MatMul(a, k) r = Softmax(m) {axis=3}",
           "a = Multiply(k, scale) t = Reshape(a) {new_shape=[1, 2, 4, 5]} m = MatMul(q, t) "
           "r = Softmax(m) {axis=3}",
           "m = MatMul(q, k) s = Multiply(m, scale) a = Adding(s, mask) r = Softmax(a) {axis=3}",
       }) {
    SCOPED_TRACE(lines);
    Graph graph = GraphOf(lines);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldAttentionScale));
    EXPECT_EQ(CountOps(graph, OpKind::kMultiply), 0);
    ASSERT_EQ(ResultOf(graph).op(), OpKind::kSoftmax);
    EXPECT_EQ(ResultOf(graph).attrs<SoftmaxAttrs>().beta, 0.25f);
  }
}

// Both operands may be scaled.
TEST(FoldAttentionScale, BothFactors) {
  Graph graph = GraphOf(
      "a = Multiply(q, scale) c = Multiply(k, scale) m = MatMul(a, c) r = Softmax(m) {axis=3}");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldAttentionScale));
  EXPECT_EQ(ResultOf(graph).attrs<SoftmaxAttrs>().beta, 0.0625f);
}

TEST(FoldAttentionScale, LeavesSimilarGraphsAlone) {
  for (const char* lines : {
           // a negative factor turns the order around
           "m = MatMul(q, k) s = Multiply(m, minus) r = Softmax(s) {axis=3}",
           // the scaled scores are an output
           "m = MatMul(q, k) s = Multiply(m, scale) r = Softmax(s) {axis=3} z = Output(s)",
           // one factor for each element
           "m = MatMul(q, k) s = Multiply(m, mask) r = Softmax(s) {axis=3}",
           // fold_affine's
           "l = MatMul(x, w, b) r = Multiply(l, scale)",
           // the operand is read by something else
           ("l = MatMul(x, w, b) h = Reshape(l) {new_shape=[1, 5, 2, 4]} s = Multiply(h, scale) "
            "r = Adding(s, h)"),
       }) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), FoldAttentionScale);
  }
}

}  // namespace
}  // namespace qb
