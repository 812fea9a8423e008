#include "core/ops/graph_text.h"

#include <limits>

#include "core/base/testing/status_matchers.h"
#include "core/ops/build.h"
#include "core/ops/pointwise.h"
#include "core/ops/verifier.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TEST(GraphText, PrintsWhatTheHeaderShows) {
  constexpr char kText[] = R"(graph "name" {
  x = Input float32[1x3x8x8]
  w = InputConstant float32[4x3x1x1] [0.5, 1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1]
  c = Convolution(x, w) {h_stride=2, activation="clip", activation_max=6.0}  // float32[1x4x4x8]
  "conv/out:0" = Identity(c)  // float32[1x4x4x8]
  y = Output("conv/out:0")
}
)";
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, GraphFromText(kText));
  QB_EXPECT_OK(VerifyGraph(graph, "parsing"));
  EXPECT_EQ(GraphToText(graph), kText);
}

TEST(GraphText, ReadsCommentsSplatsAndSeeds) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, GraphFromText(R"(
    // a comment
    graph g { a=InputConstant int8[3] splat(-4) // more
      b = InputConstant float32[1000] random(7)
      c = InputConstant float32[1000] random(7)
      d = InputConstant float32[1000] random(8)
      y = Output(a) })"));
  EXPECT_EQ(graph.FindNode("a")->constant().data<int8_t>()[2], -4);
  const Tensor& b = graph.FindNode("b")->constant();
  EXPECT_TRUE(b.Equals(graph.FindNode("c")->constant()));
  EXPECT_FALSE(b.Equals(graph.FindNode("d")->constant()));
  for (const float value : b.values<float>()) {
    EXPECT_GE(value, -1.0f);
    EXPECT_LT(value, 1.0f);
  }
}

TEST(GraphText, LargeConstantsPrintAsDigest) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph,
                          GraphFromText("graph g { a = InputConstant int8[65] splat(0) "
                                        "y = Output(a) }"));
  const std::string text = GraphToText(graph);
  EXPECT_THAT(text, HasSubstr("a = InputConstant int8[65] sha256("));
  EXPECT_THAT(GraphFromText(text),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'sha256' gives no values")));
}

// Every value of every element type survives, also the awkward ones, and so do odd names.
TEST(GraphText, ValuesAndNamesSurvive) {
  Graph graph("odd \"name\"\n\\ \x01\xff");
  const float inf = std::numeric_limits<float>::infinity();
  graph.AddConstant("floats",
                    Tensor::OfFloats({6}, {-0.0f, 1e-45f, 3.402823466e38f, inf, -inf, 0.1f}));
  graph.AddConstant("9", Tensor::OfInt64s({2}, {INT64_MIN, INT64_MAX}));
  graph.AddConstant("u64", Tensor::Of<uint64_t>(DType::kUint64, {1}, {UINT64_MAX}));
  graph.AddConstant("f16", Tensor::Of<uint16_t>(DType::kFloat16, {1}, {0x7e01}));
  graph.AddConstant("f64", Tensor::Of<double>(DType::kFloat64, Shape(), {0.1}));
  graph.AddConstant("truth", Tensor::Of<uint8_t>(DType::kBool, {2}, {0, 1}));
  graph.AddConstant("empty", Tensor::OfFloats({0, 3}, {}));
  Node* odd = graph.AddInput("a \"b\"\t", {DType::kFloat32, {2}});
  graph.AddOutput("a \"b\"\t", odd);
  const std::string text = GraphToText(graph);
  QB_ASSERT_OK_AND_ASSIGN(const Graph again, GraphFromText(text));
  EXPECT_EQ(again.name(), graph.name());
  for (const Node* node : graph.nodes()) {
    if (node->is_constant()) {
      EXPECT_TRUE(again.FindNode(node->name())->constant().Equals(node->constant()))
          << node->name();
    }
  }
  EXPECT_EQ(GraphToText(again), text);
}

TEST(GraphText, KeepsTheOrderOfInputsAndOutputs) {
  Graph graph("g");
  Node* b = graph.AddInput("b", {DType::kFloat32, {1}});
  graph.AddOutput("late", b);
  Node* a = graph.AddInput("a", {DType::kFloat32, {1}});
  QB_ASSERT_OK_AND_ASSIGN(Node * sum, AddOp(graph, OpKind::kAdding, "sum", {b, a}));
  graph.AddOutput("early", sum);
  QB_ASSERT_OK_AND_ASSIGN(const Graph again, GraphFromText(GraphToText(graph)));
  EXPECT_EQ(again.inputs()[0]->name(), "b");
  EXPECT_EQ(again.outputs()[0]->name(), "late");
  EXPECT_EQ(again.outputs()[1]->name(), "early");
}

struct BadText {
  const char* text;
  const char* message;
};

TEST(GraphText, ErrorsSayWhereAndWhat) {
  const std::vector<BadText> cases = {
      {"", "line 1, column 1: expected 'graph'"},
      {"graph g {\n  x = Input float32[2]\n  y = Tanhh(x)\n}", "line 3, column 12: there is no"},
      {"graph g { x = Input float33[2] }", "no element type 'float33'"},
      {"graph g { x = Input float32[2y3] }", "is no shape"},
      {"graph g { x = Input float32[-2] }", "negative"},
      {"graph g { x = Input float32[2", "expected a shape"},
      {"graph g { x = Input float32[1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1] }", "is no shape"},
      {"graph g { x = Input float32[1099511627777] }", "2^40"},
      {"graph g { x = InputConstant float32[999999999] splat(0) }", "constants of more than"},
      {"graph g { x = InputConstant int8[1] [128] }", "'128' is no value of this type"},
      {"graph g { x = InputConstant int8[2] [1] }", "expected ','"},
      {"graph g { x = InputConstant int8[2] random(1) }", "accepted: float32"},
      {"graph g { x = Input float32[2] x = Input float32[2] }", "'x' is taken"},
      {"graph g { x = Input float32[2] y = Output(x) y = Output(x) }", "'y' is taken"},
      {"graph g { y = Relu(x) }", "no node 'x' above"},
      {"graph g { x = Input float32[2] y = Output(x) z = Relu(y) }", "no node 'y' above"},
      {"graph g { x = Input float32[2] y = Clip(x) {low=1} }", "Clip: there is no attribute 'low'"},
      {"graph g { x = Input float32[2] y = Clip(x) {clip_min_value=[1.0, true]} }",
       "holds numbers"},
      {"graph g { x = Input float32[2] y = Clip(x) {clip_min_value=1-2} }", "is no value"},
      {"graph g { \"\" = Input float32[2] }", "name is empty"},
      {"graph g { \"a\nb\" = Input float32[2] }", "does not end on its line"},
      {"graph g { \"a\\q\" = Input float32[2] }", "expected \\\""},
      {"graph g { } more", "text after the graph"},
      {"graph g { x = Input float32[2]", "a node's name or '}'"},
  };
  for (const BadText& bad : cases) {
    EXPECT_THAT(GraphFromText(bad.text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.text;
  }
}

// Each prefix of a valid text and each single-byte change of it is either read or refused.
TEST(GraphText, DamagedTextNeverCrashes) {
  const std::string text =
      "graph g { x = Input float32[1x2x4x4] w = InputConstant float32[2x2x1x1] [1, 2, -3e-4, inf]\n"
      "  c = Convolution(x, w) {h_stride=2, activation=\"relu\"} // t\n"
      "  \"s\\x41\" = Slice(c) {axis=[1], start=[0], end=[1], step=[1]} y = Output(c) }";
  QB_ASSERT_OK(GraphFromText(text));
  int refused = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    refused += GraphFromText(absl::string_view(text).substr(0, at)).ok() ? 0 : 1;
    for (const char replacement : {'\0', '9', '-', '"', '{', 'x', '\xff'}) {
      std::string damaged = text;
      damaged[at] = replacement;
      const absl::StatusOr<Graph> graph = GraphFromText(damaged);
      if (graph.ok()) {
        QB_EXPECT_OK(VerifyGraph(*graph, "parsing"));
      }
    }
  }
  EXPECT_EQ(refused, static_cast<int>(text.size()));
}

TEST(AddOp, NamesTheNodeInErrors) {
  Graph graph;
  Node* x = graph.AddInput("x", {DType::kInt32, {2}});
  EXPECT_THAT(
      AddOp(graph, OpKind::kExp, "e", {x}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Exp 'e': the operand is int32[2]")));
  EXPECT_FALSE(AddOp(graph, OpKind::kInput, "i", {}).ok());
  EXPECT_EQ(graph.node_count(), 1);
  QB_ASSERT_OK_AND_ASSIGN(Node * y, AddOp(graph, OpKind::kOutput, "x", {x}));
  EXPECT_EQ(graph.outputs()[0], y);
}

TEST(AddOp, RefreshFollowsAttributes) {
  Graph graph;
  Node* x = graph.AddInput("x", {DType::kInt32, {2}});
  QB_ASSERT_OK_AND_ASSIGN(Node * cast, AddOp(graph, OpKind::kCast, "c", {x}, CastAttrs()));
  cast->mutable_attrs<CastAttrs>().dtype = "int8";
  QB_EXPECT_OK(RefreshType(graph, cast));
  EXPECT_EQ(cast->type().dtype, DType::kInt8);
}

}  // namespace
}  // namespace qb
