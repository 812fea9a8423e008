#include "core/passes/fold_rotation_sign.h"

#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x2x5x8]
    cos = InputConstant float32[5x8] random(1)
    sin = InputConstant float32[5x8] random(2)
    rows = InputConstant float32[5x1] random(3)
    low = Slice(x) {axis=[3], start=[0], end=[4], step=[1]}
    high = Slice(x) {axis=[3], start=[4], end=[8], step=[1]}
    )",
                                lines, "\n y = Output(r)"));
}

TEST(FoldRotationSign, RotaryEmbedding) {
  Graph graph = GraphOf(
      "n = Neg(high) j = Concatenate(n, low) {axis=3} s = Multiply(j, sin) c = Multiply(x, cos) "
      "r = Adding(c, s)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldRotationSign));
  EXPECT_EQ(CountOps(graph, OpKind::kNeg), 0);
  EXPECT_NE(graph.FindNode("sin/signed"), nullptr);
  EXPECT_EQ(graph.FindNode("j"), nullptr);  // its values are others now
}

TEST(FoldRotationSign, EveryPart) {
  Graph graph = GraphOf(
      "n = Neg(high) m = Neg(low) j = Concatenate(n, low, m) {axis=2} "
      "k = Slice(j) {axis=[2], start=[0], end=[5], step=[1]} "
      "a = Neg(k) b = Concatenate(a, k) {axis=3} r = Multiply(b, sin)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldRotationSign));
  EXPECT_EQ(CountOps(graph, OpKind::kNeg), 2);  // those of j, which no table follows
}

TEST(FoldRotationSign, LeavesSimilarGraphsAlone) {
  for (const char* lines :
       {"n = Neg(high) j = Concatenate(n, low) {axis=3} r = Multiply(j, rows)",
        "n = Neg(high) j = Concatenate(n, low) {axis=3} r = Multiply(j, x)",
        "n = Neg(high) j = Concatenate(n, low) {axis=3} s = Multiply(j, sin) r = Adding(s, j)",
        "n = Abs(high) j = Concatenate(n, low) {axis=3} r = Multiply(j, sin)"}) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), FoldRotationSign);
  }
}

}  // namespace
}  // namespace qb
