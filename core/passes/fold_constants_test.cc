#include "core/passes/fold_constants.h"

#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

absl::StatusOr<bool> Fold(Graph& graph) { return FoldConstants(graph); }

TEST(FoldConstants, FoldsChainsAndKeepsTheName) {
  Graph graph = ParseBody(R"(
    x = Input float32[2x3]
    a = InputConstant float32[3x2] [1, 2, 3, 4, 5, 6]
    two = InputConstant float32[scalar] [2]
    t = Transpose(a) {transpose_axes=[1, 0]}
    weights = Multiply(t, two)
    s = Adding(x, weights)
    y = Output(s)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, Fold));
  EXPECT_EQ(graph.node_count(), 4);
  const Node* weights = graph.FindNode("weights");
  ASSERT_NE(weights, nullptr);
  EXPECT_THAT(weights->constant().values<float>(), ::testing::ElementsAre(2, 6, 10, 4, 8, 12));
}

TEST(FoldConstants, LeavesWhatDependsOnAnInput) {
  ExpectPassLeavesAlone(ParseBody(R"(
    x = Input float32[2x3]
    a = InputConstant float32[3] [1, 2, 3]
    s = Adding(x, a)
    y = Output(s)
    z = Output(a)
  )"),
                        Fold);
}

TEST(FoldConstants, DoesNotBlowUpConstants) {
  Graph graph = ParseBody(R"(
    a = InputConstant float32[1] [1]
    e = Expand(a) {shape=[1000]}
    y = Output(e)
  )");
  QB_ASSERT_OK_AND_ASSIGN(bool changed, FoldConstants(graph, {.most_result_bytes = 3999}));
  EXPECT_FALSE(changed);
  QB_ASSERT_OK_AND_ASSIGN(changed, FoldConstants(graph, {.most_result_bytes = 4000}));
  EXPECT_TRUE(changed);
  EXPECT_TRUE(ResultOf(graph).is_constant());
}

TEST(FoldConstants, NamesTheNodeThatHasNoResult) {
  Graph graph = ParseBody(R"(
    a = InputConstant float32[3] [1, 2, 3]
    i = InputConstant int64[1] [3]
    g = Gather(a, i)
    y = Output(g)
  )");
  EXPECT_THAT(FoldConstants(graph),
              StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr("'g'")));
}

}  // namespace
}  // namespace qb
