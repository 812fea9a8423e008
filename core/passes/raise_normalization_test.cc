#include "core/passes/raise_normalization.h"

#include "core/ops/normalization.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x5x8]
    z = Input float32[1x5x8]
    gamma = InputConstant float32[8] random(1)
    beta = InputConstant float32[8] random(2)
    rows = InputConstant float32[5x1] random(3)
    two = InputConstant float32[scalar] [2]
    four = InputConstant float32[scalar] [4]
    half = InputConstant float32[scalar] [0.5]
    inverse_half = InputConstant float32[1] [-0.5]
    minus = InputConstant float32[1] [-1]
    one = InputConstant float32[1] [1]
    zero = InputConstant float32[1] [0]
    eighth = InputConstant float32[1] [0.125]
    fifth = InputConstant float32[1] [0.2]
    epsilon = InputConstant float32[1] [0.00001]
    )",
                                lines, "\n y = Output(r)"));
}

constexpr char kCentered[] = "m = ReduceMean(x) {reduce_axes=[2]} c = Sub(x, m) ";
constexpr char kVariance[] = "p = Pow(c, two) v = ReduceMean(p) {reduce_axes=[2]} ";
constexpr char kRoot[] = "e = Adding(v, epsilon) s = Sqrt(e) ";
constexpr char kAffine[] = "g = Multiply(n, gamma) r = Adding(g, beta)";

std::string Core() { return absl::StrCat(kCentered, kVariance, kRoot); }

void ExpectNormalization(absl::string_view lines, bool has_bias) {
  SCOPED_TRACE(lines);
  Graph graph = GraphOf(lines);
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  const Node& result = ResultOf(graph);
  ASSERT_EQ(result.op(), OpKind::kLayerNormalization) << GraphToText(graph);
  EXPECT_EQ(result.name(), "r");
  EXPECT_EQ(result.operand(0)->name(), "x");
  EXPECT_EQ(result.operand_count(), has_bias ? 3 : 2);
  const auto& attrs = result.attrs<LayerNormalizationAttrs>();
  EXPECT_EQ(attrs.axis, 2);
  EXPECT_EQ(attrs.epsilon, 1e-5f);
}

TEST(RaiseNormalization, QuotientsAndProducts) {
  ExpectNormalization(absl::StrCat(Core(), "n = Div(c, s) ", kAffine), true);
  ExpectNormalization(absl::StrCat(Core(), "r = Div(c, s)"), false);
  ExpectNormalization(absl::StrCat(Core(), "i = Div(one, s) n = Multiply(c, i) ", kAffine), true);
  ExpectNormalization(absl::StrCat(Core(), "i = Pow(s, minus) n = Multiply(i, c) ", kAffine), true);
  ExpectNormalization(absl::StrCat(kCentered, kVariance,
                                   "e = Adding(v, epsilon) i = Pow(e, inverse_half) "
                                   "n = Multiply(c, i) ",
                                   kAffine),
                      true);
  ExpectNormalization(
      absl::StrCat(kCentered, kVariance, "e = Adding(v, epsilon) s = Pow(e, half) n = Div(c, s) ",
                   kAffine),
      true);
  ExpectNormalization(
      absl::StrCat(Core(), "h = Multiply(c, gamma) n = Div(h, s) r = Adding(n, beta)"), true);
  ExpectNormalization(absl::StrCat(Core(),
                                   "i = Div(one, s) k = Multiply(i, gamma) n = Multiply(c, k) "
                                   "r = Adding(n, beta)"),
                      true);
}

TEST(RaiseNormalization, SpellingsOfTheVariance) {
  for (const char* variance : {
           "p = Multiply(c, c) v = ReduceMean(p) {reduce_axes=[2]} ",
           "m2 = ReduceMean(x) {reduce_axes=[2]} c2 = Sub(x, m2) p = Pow(c2, two) "
           "v = ReduceMean(p) {reduce_axes=[2]} ",
           "p = Multiply(c, c) t = ReduceSum(p) {reduce_axes=[2]} v = Multiply(t, eighth) ",
           "p = Multiply(c, c) w = ReduceMean(p) {reduce_axes=[2], keep_dims=false} "
           "v = Reshape(w) {new_shape=[1, 5, 1]} ",
           "p = Multiply(x, x) q = ReduceMean(p) {reduce_axes=[2]} u = Multiply(m, m) "
           "d = Sub(q, u) v = Relu(d) ",
           "p = Pow(x, two) q = ReduceMean(p) {reduce_axes=[2]} u = Pow(m, two) v = Sub(q, u) ",
       }) {
    ExpectNormalization(absl::StrCat(kCentered, variance, kRoot, "n = Div(c, s) ", kAffine), true);
  }
}

// Means whose axes go and come back, sums, and a mean repeated to the operand's shape.
TEST(RaiseNormalization, SpellingsOfTheMean) {
  for (const char* mean : {
           "w = ReduceMean(x) {reduce_axes=[2], keep_dims=false} m = Reshape(w) "
           "{new_shape=[1, 5, 1]} ",
           "w = ReduceSum(x) {reduce_axes=[2], keep_dims=false} t = Multiply(w, eighth) "
           "m = Reshape(t) {new_shape=[1, 5, 1]} ",
           "w = ReduceMean(x) {reduce_axes=[2]} m = Expand(w) {shape=[1, 5, 8]} ",
       }) {
    ExpectNormalization(
        absl::StrCat(mean, "c = Sub(x, m) ", kVariance, kRoot, "n = Div(c, s) ", kAffine), true);
  }
}

// As Keras writes it: x * i + (beta - mean * i) with i = gamma / deviation.
TEST(RaiseNormalization, ShiftedProducts) {
  const std::string inverse =
      absl::StrCat(Core(), "i = Div(one, s) k = Multiply(i, gamma) a = Multiply(x, k) ");
  ExpectNormalization(absl::StrCat(inverse, "b = Multiply(m, k) d = Sub(beta, b) r = Adding(a, d)"),
                      true);
  ExpectNormalization(absl::StrCat(inverse, "b = Multiply(k, m) d = Sub(beta, b) r = Adding(d, a)"),
                      true);
  ExpectNormalization(absl::StrCat(inverse,
                                   "o = Neg(m) b = Multiply(o, k) d = Adding(b, beta) "
                                   "r = Adding(a, d)"),
                      true);
  ExpectNormalization(absl::StrCat(inverse, "b = Multiply(m, k) r = Sub(a, b)"), false);
}

TEST(RaiseNormalization, RootMeanSquare) {
  constexpr char kSquares[] =
      "p = Multiply(x, x) v = ReduceMean(p) {reduce_axes=[2]} e = Adding(v, epsilon) s = Sqrt(e) ";
  for (const char* quotient :
       {"i = Div(one, s) n = Multiply(x, i) r = Multiply(n, gamma)",
        "n = Div(x, s) r = Multiply(n, gamma)", "i = Pow(s, minus) r = Multiply(i, x)",
        "i = Div(one, s) k = Multiply(i, gamma) r = Multiply(x, k)"}) {
    SCOPED_TRACE(quotient);
    Graph graph = GraphOf(absl::StrCat(kSquares, quotient));
    EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
    ASSERT_EQ(ResultOf(graph).op(), OpKind::kRmsNormalization) << GraphToText(graph);
    EXPECT_EQ(ResultOf(graph).name(), "r");
  }
  // It has no bias: the sum stays.
  Graph graph = GraphOf(absl::StrCat(kSquares, "n = Div(x, s) r = Adding(n, beta)"));
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kAdding);
}

// The channels of an image, with parameters of shape [C, 1, 1].
TEST(RaiseNormalization, OtherAxesAreBroughtToTheEnd) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x6x3x4]
    gamma = InputConstant float32[6x1x1] random(1)
    beta = InputConstant float32[6x1x1] random(2)
    two = InputConstant float32[scalar] [2]
    epsilon = InputConstant float32[scalar] [0.00001]
    m = ReduceMean(x) {reduce_axes=[1]}
    c = Sub(x, m)
    p = Pow(c, two)
    v = ReduceMean(p) {reduce_axes=[1]}
    e = Adding(v, epsilon)
    s = Sqrt(e)
    n = Div(c, s)
    g = Multiply(n, gamma)
    r = Adding(g, beta)
    y = Output(r)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kTranspose);
  EXPECT_EQ(ResultOf(graph).name(), "r");
  ASSERT_EQ(ResultOf(graph).operand(0)->op(), OpKind::kLayerNormalization);
  EXPECT_EQ(ResultOf(graph).operand(0)->operand(1)->shape(), Shape({6}));
}

TEST(RaiseNormalization, SeveralAxes) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x3x4x5]
    gamma = InputConstant float32[4x5] random(1)
    beta = InputConstant float32[4x1] random(2)
    epsilon = InputConstant float32[scalar] [0.00001]
    m = ReduceMean(x) {reduce_axes=[2, 3]}
    c = Sub(x, m)
    p = Multiply(c, c)
    v = ReduceMean(p) {reduce_axes=[2, 3]}
    e = Adding(v, epsilon)
    s = Sqrt(e)
    n = Div(c, s)
    g = Multiply(n, gamma)
    r = Adding(g, beta)
    y = Output(r)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  ASSERT_EQ(ResultOf(graph).op(), OpKind::kLayerNormalization);
  EXPECT_EQ(ResultOf(graph).attrs<LayerNormalizationAttrs>().axis, 2);
  EXPECT_EQ(ResultOf(graph).operand(1)->name(), "gamma");
}

// One normalization reads the result of another.
TEST(RaiseNormalization, Chained) {
  Graph graph = GraphOf(
      absl::StrCat(Core(), "n = Div(c, s) g = Multiply(n, gamma) h = Adding(g, beta) ",
                   "m2 = ReduceMean(h) {reduce_axes=[2]} c2 = Sub(h, m2) p2 = Multiply(c2, c2) "
                   "v2 = ReduceMean(p2) {reduce_axes=[2]} e2 = Adding(v2, epsilon) s2 = Sqrt(e2) "
                   "r = Div(c2, s2)"));
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  EXPECT_EQ(CountOps(graph, OpKind::kLayerNormalization), 2);
  EXPECT_NE(graph.FindNode("h"), nullptr);
}

// Parameters that vary along another axis stay behind it.
TEST(RaiseNormalization, KeepsForeignFactors) {
  Graph graph = GraphOf(absl::StrCat(Core(), "n = Div(c, s) r = Multiply(n, rows)"));
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kMultiply);
  EXPECT_EQ(CountOps(graph, OpKind::kLayerNormalization), 1);
}

// What is left of x less something that is not its mean is normalized by its own mean square.
TEST(RaiseNormalization, ForeignMean) {
  Graph graph = GraphOf(absl::StrCat("m = ReduceMean(z) {reduce_axes=[2]} c = Sub(x, m) ",
                                     kVariance, kRoot, "r = Div(c, s)"));
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseNormalization, 5e-5f));
  ASSERT_EQ(ResultOf(graph).op(), OpKind::kRmsNormalization);
  EXPECT_EQ(ResultOf(graph).operand(0)->name(), "c");
}

TEST(RaiseNormalization, LeavesSimilarGraphsAlone) {
  for (const std::string& lines : {
           // the mean is over other axes than the variance
           absl::StrCat("m = ReduceMean(x) {reduce_axes=[1]} c = Sub(x, m) ",
                        "m2 = ReduceMean(x) {reduce_axes=[2]} c2 = Sub(x, m2) p = Pow(c2, two) "
                        "v = ReduceMean(p) {reduce_axes=[2]} ",
                        kRoot, "r = Div(c, s)"),
           // the deviation is shifted, not the variance
           absl::StrCat(kCentered, kVariance, "q = Sqrt(v) s = Adding(q, epsilon) r = Div(c, s)"),
           // no square
           absl::StrCat(kCentered, "p = Pow(c, four) v = ReduceMean(p) {reduce_axes=[2]} ", kRoot,
                        "r = Div(c, s)"),
           // a sum divided by something else than its count
           absl::StrCat(kCentered,
                        "p = Multiply(c, c) t = ReduceSum(p) {reduce_axes=[2]} "
                        "v = Multiply(t, fifth) ",
                        kRoot, "r = Div(c, s)"),
           // not centered, by a deviation that is
           absl::StrCat(Core(), "r = Div(x, s)"),
           // the inverse belongs to another tensor
           absl::StrCat(Core(), "i = Div(one, s) r = Multiply(z, i)"),
           // nothing keeps the root from zero
           absl::StrCat(kCentered, kVariance, "s = Sqrt(v) r = Div(c, s)"),
           // a shift that is not the mean's
           absl::StrCat(Core(),
                        "i = Div(one, s) a = Multiply(x, i) b = Multiply(s, i) d = Sub(beta, b) "
                        "r = Adding(a, d)"),
       }) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), RaiseNormalization);
  }
}

}  // namespace
}  // namespace qb
