#include "core/passes/canonicalize_arithmetic.h"

#include "core/ops/pointwise.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view expression) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[2x3]
    c = InputConstant float32[3] [1, -2, 4]
    s = InputConstant float32[1] [0.5]
    zero = InputConstant float32[3] [1, 0, 1]
    r = )",
                                expression, R"(
    y = Output(r)
  )"));
}

void ExpectBecomes(absl::string_view expression, OpKind kind) {
  SCOPED_TRACE(std::string(expression));
  Graph graph = GraphOf(expression);
  EXPECT_TRUE(ExpectPassPreservesResults(graph, CanonicalizeArithmetic));
  EXPECT_EQ(ResultOf(graph).op(), kind);
  EXPECT_EQ(ResultOf(graph).operand(0)->name(), "x");
  EXPECT_EQ(ResultOf(graph).name(), "r");
}

TEST(CanonicalizeArithmetic, OneSpelling) {
  ExpectBecomes("Adding(c, x)", OpKind::kAdding);
  ExpectBecomes("Sub(x, c)", OpKind::kAdding);
  ExpectBecomes("Div(x, c)", OpKind::kMultiply);
  ExpectBecomes("Maximum(x, s)", OpKind::kClip);
  ExpectBecomes("Minimum(s, x)", OpKind::kClip);
  ExpectBecomes("Clip(x) {clip_min_value=0.0}", OpKind::kRelu);
  ExpectBecomes("Clip(x) {clip_min_value=0.0, clip_max_value=inf}", OpKind::kRelu);
}

TEST(CanonicalizeArithmetic, LeavesAlone) {
  for (const char* expression :
       {"Adding(x, c)", "Sub(c, x)", "Maximum(x, c)", "Clip(x) {clip_min_value=0.5}",
        "Clip(x) {clip_min_value=0.0, clip_max_value=6.0}", R"(Maximum(x, s) {activation="relu"})",
        "Sub(x, x)"}) {
    SCOPED_TRACE(expression);
    ExpectPassLeavesAlone(GraphOf(expression), CanonicalizeArithmetic);
  }
  Graph by_zero = GraphOf("Div(x, zero)");
  QB_ASSERT_OK_AND_ASSIGN(const bool changed, CanonicalizeArithmetic(by_zero));
  EXPECT_FALSE(changed);
}

}  // namespace
}  // namespace qb
