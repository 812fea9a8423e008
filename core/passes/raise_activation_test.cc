#include "core/passes/raise_activation.h"

#include "core/base/status_macros.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x4x6x6]
    z = Input float32[1x4x6x6]
    three = InputConstant float32[scalar] [3]
    sixth = InputConstant float32[1] [0.16666667]
    fifth = InputConstant float32[1] [0.2]
    )",
                                lines, "\n y = Output(r)"));
}

TEST(RaiseActivation, SwishAndHardSwish) {
  for (const char* lines :
       {"s = Sigmoid(x) r = Multiply(x, s)", "s = Sigmoid(x) r = Multiply(s, x)",
        "s = HardSigmoid(x) {alpha=0.16666667, beta=0.5} r = Multiply(x, s)"}) {
    SCOPED_TRACE(lines);
    Graph graph = GraphOf(lines);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseActivation));
    EXPECT_EQ(CountOps(graph, OpKind::kSwish) + CountOps(graph, OpKind::kHardSwish), 1);
    EXPECT_EQ(ResultOf(graph).name(), "r");
    EXPECT_EQ(ResultOf(graph).operand(0)->name(), "x");
  }
  for (const char* lines :
       {"s = Sigmoid(x) r = Multiply(z, s)", "s = Sigmoid(x) {alpha=2.0} r = Multiply(x, s)",
        "s = HardSigmoid(x) r = Multiply(x, s)",
        "s = Sigmoid(x) t = Multiply(x, s) r = Adding(s, t)"}) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), RaiseActivation);
  }
}

constexpr char kClamp[] =
    "a = Adding(x, three) c = Clip(a) {clip_min_value=0.0, clip_max_value=6.0} ";
constexpr char kFused[] = R"(c = Adding(x, three) {activation="clip", activation_max=6.0} )";

// As exporters before opset 14 write HardSigmoid and HardSwish.
TEST(RaiseActivation, SpelledOutHardSwish) {
  for (const char* clamp : {kClamp, kFused}) {
    Graph sigmoid = GraphOf(absl::StrCat(clamp, "r = Multiply(c, sixth)"));
    EXPECT_TRUE(ExpectPassPreservesResults(sigmoid, RaiseActivation));
    EXPECT_EQ(ResultOf(sigmoid).op(), OpKind::kHardSigmoid);
    for (const char* rest :
         {"m = Multiply(x, c) r = Multiply(m, sixth)", "m = Multiply(c, x) r = Multiply(m, sixth)",
          "m = Multiply(c, sixth) r = Multiply(x, m)"}) {
      SCOPED_TRACE(absl::StrCat(clamp, rest));
      Graph graph = GraphOf(absl::StrCat(clamp, rest));
      EXPECT_TRUE(ExpectPassPreservesResults(graph, [](Graph& g) -> absl::StatusOr<bool> {
        QB_RETURN_IF_ERROR(RaiseActivation(g).status());
        return RaiseActivation(g).ok();
      }));
      EXPECT_EQ(ResultOf(graph).op(), OpKind::kHardSwish);
      EXPECT_EQ(ResultOf(graph).name(), "r");
      EXPECT_EQ(graph.node_count(), 4);  // both inputs, the operator and the output
    }
  }
}

TEST(RaiseActivation, GateOnAnotherTensor) {
  Graph graph = GraphOf(absl::StrCat(kClamp, "m = Multiply(z, c) r = Multiply(m, sixth)"));
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RaiseActivation));
  EXPECT_EQ(CountOps(graph, OpKind::kHardSigmoid), 1);
  EXPECT_EQ(CountOps(graph, OpKind::kMultiply), 1);
}

TEST(RaiseActivation, LeavesOtherClampsAlone) {
  for (const char* rest : {"r = Multiply(c, fifth)", "m = Multiply(x, c) r = Multiply(m, fifth)",
                           "m = Multiply(c, sixth) r = Adding(m, c)"}) {
    SCOPED_TRACE(rest);
    ExpectPassLeavesAlone(GraphOf(absl::StrCat(kClamp, rest)), RaiseActivation);
  }
}

}  // namespace
}  // namespace qb
