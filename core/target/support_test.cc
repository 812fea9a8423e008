#include "core/target/support.h"

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/ops/graph_text.h"
#include "core/target/constraints.h"

namespace qb {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The reasons of every unsupported node, "name: reason".
std::vector<std::string> Reasons(const std::string& body, const char* target) {
  absl::StatusOr<Graph> graph = GraphFromText("graph \"g\" {\n" + body + "\n}");
  EXPECT_TRUE(graph.ok()) << graph.status();
  std::vector<std::string> reasons;
  if (graph.ok()) {
    for (const NodeSupport& support : CheckSupport(*graph, **FindTarget(target)).nodes) {
      for (const std::string& reason : support.reasons) {
        reasons.push_back(support.node->name() + ": " + reason);
      }
    }
  }
  return reasons;
}

TEST(CheckSupport, TakesAResidualBlock) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x8x8x4]
    w = InputConstant float32[4x3x3x4] random(7)
    c = Convolution(x, w) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1, channel_last=true, activation="relu"}
    s = Adding(x, c)
    r = Relu(s)
    g = GlobalAveragePooling(r) {channel_last=true}
    y = Output(g))",
                      "regulus-ra"),
              IsEmpty());
}

TEST(CheckSupport, SaysWhatNeedsTheLookupUnit) {
  const std::string body = R"(
    x = Input float32[1x8]
    s = Sigmoid(x)
    r = Clip(s)
    f = Softmax(r) {axis=1}
    y = Output(f))";
  EXPECT_THAT(Reasons(body, "regulus-rb"), IsEmpty());
  EXPECT_THAT(Reasons(body, "regulus-ra"),
              ElementsAre(HasSubstr("s: This target has no lookup-table unit for non-linear "
                                    "functions; found: Sigmoid"),
                          HasSubstr("f: This target has no lookup-table unit")));
}

TEST(CheckSupport, NamesEachLimitThatIsBroken) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x1x200x2]
    w = InputConstant float32[3x1x65x2] random(7)
    c = Convolution(x, w) {w_kernel=65, w_stride=70, channel_last=true}
    y = Output(c))",
                      "aries-rb"),
              ElementsAre(HasSubstr("found: 1x65 (at most 64)"), HasSubstr("found: 1x70")));
}

TEST(CheckSupport, RefusesWhatTheMachineDoesNotCompute) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x4x4x2]
    z = Input float32[1x4x4x2]
    p = Pad(x) {padding_list=[0, 1, 1, 0, 0, 1, 1, 0], pad_mode="reflect"}
    q = Div(x, z)
    m = Maximum(x, z)
    g = ReduceMin(x) {reduce_axes=[1]}
    y1 = Output(p)
    y2 = Output(q)
    y3 = Output(m)
    y4 = Output(g))",
                      "aries-rb"),
              ElementsAre(HasSubstr("p: Padding is done with a constant"),
                          HasSubstr("q: Div needs a constant divisor"), HasSubstr("m: Div needs"),
                          HasSubstr("g: The NPU has no instruction for this operator; found: "
                                    "ReduceMin")));
}

TEST(CheckSupport, NormalizesWithConstantsAndALookupUnit) {
  const std::string body = R"(
    x = Input float32[1x5x8]
    v = Input float32[8]
    s = InputConstant float32[8] random(1)
    n = LayerNormalization(x, s, s) {axis=2}
    r = RmsNormalization(n, s) {axis=2}
    q = LayerNormalization(r, v, s) {axis=2}
    y = Output(q))";
  EXPECT_THAT(Reasons(body, "aries-rb"),
              ElementsAre(HasSubstr("q: A layer or RMS normalization needs a "
                                    "constant scale and bias, and takes "
                                    "runs of limited length; found: 'v'")));
  EXPECT_THAT(Reasons(body, "regulus-ra"),
              Contains(HasSubstr("n: This target has no lookup-table unit")));
}

TEST(CheckSupport, TakesFunctionsOfOneValue) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x8]
    two = InputConstant float32[1] [2]
    one = InputConstant float32[scalar] [1]
    p = Pow(x, two)
    e = Exp(p)
    d = Adding(e, one)
    q = Div(p, d)
    m = Maximum(q, x)
    y = Output(m))",
                      "aries-rb"),
              IsEmpty());
}

TEST(RequireFullSupport, NamesTargetNodesAndReasons) {
  QB_ASSERT_OK_AND_ASSIGN(Graph graph, GraphFromText(R"(graph "g" {
    x = Input float32[1x8]
    s = Tanh(x)
    y = Output(s)
  })"));
  const TargetSpec& target = **FindTarget("regulus-ra");
  const absl::Status status = RequireFullSupport(CheckSupport(graph, target), target);
  EXPECT_EQ(FailureCodeOf(status), FailureCode::kUnsupportedOperator);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("target regulus-ra does not run 1 layer:\n  's' (Tanh): This target"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--cpu-offload"));
  const TargetSpec& other = **FindTarget("aries-rb");
  QB_EXPECT_OK(RequireFullSupport(CheckSupport(graph, other), other));
}

TEST(RequireFullSupport, NamesEveryLayer) {
  std::string body = "x = Input float32[1x8]\n";
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string name = "layer" + std::to_string(i);
    absl::StrAppend(&body, name, " = Tanh(", last, ")\n");
    last = name;
  }
  QB_ASSERT_OK_AND_ASSIGN(Graph graph,
                          GraphFromText("graph \"g\" {\n" + body + "y = Output(" + last + ")\n}"));
  const TargetSpec& target = **FindTarget("regulus-ra");
  const std::string message(RequireFullSupport(CheckSupport(graph, target), target).message());
  for (int i = 0; i < 40; ++i) {
    EXPECT_THAT(message, HasSubstr("'layer" + std::to_string(i) + "'"));
  }
}

TEST(CheckSupport, InputsAndOutputsMustBeComputable) {
  EXPECT_THAT(Reasons(R"(
    x = Input int64[1x8]
    c = InputConstant float32[2] [1, 2]
    k = Cast(x) {dtype="float32"}
    y = Output(k)
    z = Output(c))",
                      "aries-rb"),
              ::testing::UnorderedElementsAre(
                  HasSubstr("x: The values must be float32"), HasSubstr("k: The NPU has no instr"),
                  HasSubstr("k: The values must be float32"),
                  HasSubstr("z: The NPU computes what depends on an input")));
}

TEST(CheckSupport, MaximaAndPicksOfConstantPlaces) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x4x4x3]
    even = InputConstant int64[2] [2, 0]
    uneven = InputConstant int64[3] [0, 1, 3]
    outside = InputConstant int64[3] [0, 1, 4]
    a = ReduceMax(x) {reduce_axes=[1, 2]}
    b = ReduceMax(x) {reduce_axes=[1, 3]}
    h = ReduceMax(x) {reduce_axes=[2, 3]}
    c = Gather(x, even) {axis=1}
    d = Gather(x, uneven) {axis=1}
    e = Gather(x, outside) {axis=1}
    f = Expand(a) {shape=[1, 4, 4, 3]}
    y0 = Output(a)
    y1 = Output(b)
    y2 = Output(c)
    y3 = Output(d)
    y4 = Output(e)
    y5 = Output(f)
    y6 = Output(h))",
                      "aries-rb"),
              ElementsAre(HasSubstr("b: A maximum is taken over neighbouring axes"),
                          HasSubstr("e: Elements are picked at constant places")));
}

TEST(CheckSupport, ProductsOfTwoActivationsHaveNoBias) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x4x4]
    z = Input float32[1x4x4]
    w = InputConstant float32[4x4] random(3)
    b = InputConstant float32[4] [1, 2, 3, 4]
    p = MatMul(x, w, b)
    q = MatMul(x, z, b)
    y0 = Output(p)
    y1 = Output(q))",
                      "aries-rb"),
              ElementsAre(HasSubstr("q: A matrix product takes matrices")));
}

TEST(CheckSupport, ASquareIsATableAndALineIsNot) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x8]
    two = InputConstant float32[scalar] [2]
    a = Multiply(x, two)
    b = Adding(a, two)
    c = Clip(b) {clip_min_value=0.0, clip_max_value=6.0}
    d = Multiply(c, c)
    y = Output(d))",
                      "regulus-ra"),
              ElementsAre(HasSubstr("d: This target has no lookup-table unit")));
}

TEST(AllConstraints, HaveNamesAndSentences) {
  for (const Constraint& constraint : AllConstraints()) {
    EXPECT_FALSE(constraint.name.empty());
    EXPECT_GT(constraint.sentence.size(), 10u) << constraint.name;
  }
}

TEST(CheckSupport, TakesTransposedConvolutionsSlopesAndLinearResize) {
  const std::string body = R"(
    x = Input float32[1x4x4x2]
    w = InputConstant float32[3x2x2x2] random(7)
    s = InputConstant float32[1x1x1x3] random(8)
    c = TransposeConvolution(x, w) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, channel_last=true}
    p = PRelu(c, s)
    r = Resize(p) {mode="linear", transform_mode="align_corners", sizes=[1, 20, 20, 3], scales=[1, 2.5, 2.5, 1]}
    y = Output(r))";
  EXPECT_THAT(Reasons(body, "aries-rb"), IsEmpty());
  EXPECT_THAT(Reasons(body, "regulus-ra"), IsEmpty());
}

TEST(CheckSupport, SaysWhatATransposedConvolutionMayNot) {
  EXPECT_THAT(Reasons(R"(
    x = Input float32[1x4x4x2]
    w = InputConstant float32[3x2x2x2] random(7)
    s = InputConstant float32[1x5x1x1] random(8)
    c = TransposeConvolution(x, w) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2, north_padding=2, channel_last=true}
    d = Slice(c) {axis=[1], start=[0], end=[5], step=[1]}
    p = PRelu(d, s)
    y = Output(p))",
                      "aries-rb"),
              ElementsAre(HasSubstr("found: 2x0 (at most 1x1)"),
                          HasSubstr("p: The slopes of a PRelu must be constant")));
}

TEST(CheckSupport, TablesNeedTheLookupUnit) {
  const std::string body = R"(
    x = Input float32[1x8]
    a = HardSigmoid(x)
    b = HardSwish(a)
    c = Swish(b)
    y = Output(c))";
  EXPECT_THAT(Reasons(body, "aries-rb"), IsEmpty());
  EXPECT_THAT(Reasons(body, "regulus-ra"),
              ElementsAre(HasSubstr("found: HardSigmoid"), HasSubstr("found: HardSwish"),
                          HasSubstr("found: Swish")));
}

}  // namespace
}  // namespace qb
