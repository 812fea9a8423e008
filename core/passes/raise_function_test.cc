#include "core/passes/raise_function.h"

#include "core/ops/pointwise.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x4x6]
    z = Input float32[1x4x6]
    root_two = InputConstant float32[scalar] [1.4142135]
    inverse_root = InputConstant float32[scalar] [0.70710677]
    one = InputConstant float32[1] [1]
    two = InputConstant float32[scalar] [2]
    three = InputConstant float32[scalar] [3]
    minus = InputConstant float32[scalar] [-1]
    half = InputConstant float32[1x1x1] [0.5]
    sixth = InputConstant float32[1] [0.16666667]
    cubic = InputConstant float32[scalar] [0.044715]
    slope = InputConstant float32[scalar] [0.7978845608]
    quick = InputConstant float32[scalar] [1.702]
    )",
                                lines, "\n y = Output(r)"));
}

void ExpectFunction(absl::string_view lines, OpKind op) {
  SCOPED_TRACE(lines);
  Graph graph = GraphOf(lines);
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseFunction));
  ASSERT_EQ(ResultOf(graph).op(), op) << GraphToText(graph);
  EXPECT_EQ(ResultOf(graph).name(), "r");
  EXPECT_EQ(ResultOf(graph).operand(0)->name(), "x");
  EXPECT_EQ(graph.node_count(), 4);  // both inputs, the operator and the output
}

TEST(RaiseFunction, GeluByErf) {
  for (const char* lines :
       {"a = Div(x, root_two) e = Erf(a) b = Adding(e, one) c = Multiply(x, b) "
        "r = Multiply(c, half)",
        "a = Multiply(x, inverse_root) e = Erf(a) b = Adding(e, one) c = Multiply(x, half) "
        "r = Multiply(c, b)",
        "h = Multiply(x, half) a = Multiply(inverse_root, x) e = Erf(a) c = Multiply(h, e) "
        "r = Adding(c, h)",
        "a = Div(x, root_two) e = Erf(a) b = Adding(one, e) d = Multiply(b, half) "
        "r = Multiply(x, d)"}) {
    ExpectFunction(lines, OpKind::kGelu);
    Graph graph = GraphOf(lines);
    ASSERT_TRUE(RaiseFunction(graph).ok());
    EXPECT_FALSE(ResultOf(graph).attrs<GeluAttrs>().approximate);
  }
}

TEST(RaiseFunction, GeluByTanh) {
  for (const char* lines :
       {"p = Pow(x, three) q = Multiply(p, cubic) s = Adding(x, q) t = Multiply(s, slope) "
        "u = Tanh(t) v = Adding(u, one) w = Multiply(x, v) r = Multiply(w, half)",
        "a = Multiply(cubic, x) b = Multiply(x, a) c = Multiply(x, b) s = Adding(x, c) "
        "t = Multiply(slope, s) u = Tanh(t) v = Adding(one, u) w = Multiply(half, v) "
        "r = Multiply(x, w)",
        "a = Multiply(x, x) b = Multiply(a, cubic) c = Adding(b, one) d = Multiply(x, slope) "
        "t = Multiply(d, c) u = Tanh(t) v = Adding(u, one) h = Multiply(x, half) "
        "r = Multiply(h, v)"}) {
    ExpectFunction(lines, OpKind::kGelu);
    Graph graph = GraphOf(lines);
    ASSERT_TRUE(RaiseFunction(graph).ok());
    EXPECT_TRUE(ResultOf(graph).attrs<GeluAttrs>().approximate);
  }
}

TEST(RaiseFunction, SigmoidSwishAndSoftplus) {
  constexpr char kExp[] = "n = Neg(x) e = Exp(n) b = Adding(e, one) ";
  ExpectFunction(absl::StrCat(kExp, "r = Div(one, b)"), OpKind::kSigmoid);
  ExpectFunction(absl::StrCat(kExp, "r = Pow(b, minus)"), OpKind::kSigmoid);
  ExpectFunction(absl::StrCat(kExp, "r = Div(x, b)"), OpKind::kSwish);
  ExpectFunction(absl::StrCat(kExp, "s = Div(one, b) r = Multiply(s, x)"), OpKind::kSwish);
  ExpectFunction("e = Exp(x) b = Adding(e, one) r = Log(b)", OpKind::kSoftplus);
  ExpectFunction("h = Multiply(x, half) t = Tanh(h) b = Adding(t, one) r = Multiply(b, half)",
                 OpKind::kSigmoid);
}

TEST(RaiseFunction, Mish) {
  ExpectFunction("s = Softplus(x) t = Tanh(s) r = Multiply(x, t)", OpKind::kMish);
  ExpectFunction("e = Exp(x) b = Adding(e, one) s = Log(b) t = Tanh(s) r = Multiply(t, x)",
                 OpKind::kMish);
}

TEST(RaiseFunction, HardSigmoidAndHardSwish) {
  constexpr char kLine[] = "a = Multiply(x, sixth) b = Adding(a, half) ";
  constexpr char kUnit[] = "c = Clip(b) {clip_min_value=0.0, clip_max_value=1.0} ";
  ExpectFunction(absl::StrCat(kLine, kUnit, "r = Multiply(x, c)"), OpKind::kHardSwish);
  ExpectFunction(
      "b = Adding(x, three) c = Clip(b) {clip_min_value=0.0, clip_max_value=6.0} "
      "d = Multiply(c, x) r = Multiply(d, sixth)",
      OpKind::kHardSwish);
  ExpectFunction(
      R"(a = Multiply(x, sixth) c = Adding(a, half) {activation="clip", activation_max=1.0}
                 r = Multiply(c, x))",
      OpKind::kHardSwish);
}

// The function's operand may be computed by elementwise operators, too.
TEST(RaiseFunction, StopsAtTheOperand) {
  Graph graph = GraphOf(
      "k = Abs(x) a = Div(k, root_two) e = Erf(a) b = Adding(e, one) c = Multiply(k, b) "
      "r = Multiply(c, half)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseFunction));
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kGelu);
  EXPECT_EQ(ResultOf(graph).operand(0)->name(), "k");
}

// What something else reads stays.
TEST(RaiseFunction, KeepsSharedParts) {
  Graph graph = GraphOf(
      "a = Div(x, root_two) e = Erf(a) b = Adding(e, one) c = Multiply(x, b) "
      "g = Multiply(c, half) r = Adding(g, e)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseFunction));
  EXPECT_EQ(CountOps(graph, OpKind::kGelu), 1);
  EXPECT_EQ(CountOps(graph, OpKind::kErf), 1);
}

TEST(RaiseFunction, LeavesSimilarGraphsAlone) {
  for (const char* lines :
       {// another tensor is multiplied
        "a = Div(x, root_two) e = Erf(a) b = Adding(e, one) c = Multiply(z, b) "
        "r = Multiply(c, half)",
        // the half is missing
        "a = Div(x, root_two) e = Erf(a) b = Adding(e, one) r = Multiply(x, b)",
        // x / 2 in the error function
        "a = Div(x, two) e = Erf(a) b = Adding(e, one) c = Multiply(x, b) r = Multiply(c, half)",
        // the sigmoid approximation, which has no operator
        "a = Multiply(x, quick) s = Sigmoid(a) r = Multiply(x, s)",
        // a square for the cube
        "p = Pow(x, two) q = Multiply(p, cubic) s = Adding(x, q) t = Multiply(s, slope) "
        "u = Tanh(t) v = Adding(u, one) w = Multiply(x, v) r = Multiply(w, half)",
        "e = Exp(x) b = Adding(e, two) r = Log(b)",
        "a = Multiply(x, half) b = Adding(a, half) c = Clip(b) {clip_min_value=0.0, "
        "clip_max_value=1.0} r = Multiply(x, c)"}) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), RaiseFunction);
  }
}

}  // namespace
}  // namespace qb
