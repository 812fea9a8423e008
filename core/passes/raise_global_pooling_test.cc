#include "core/passes/raise_global_pooling.h"

#include "core/ops/pooling.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view expression) {
  return ParseBody(absl::StrCat("x = Input float32[1x4x6x6] v = Input float32[4x6x6]\n r = ",
                                expression, "\n y = Output(r)"));
}

absl::StatusOr<bool> ChannelFirst(Graph& graph) { return RaiseGlobalPooling(graph); }
absl::StatusOr<bool> ChannelLast(Graph& graph) {
  return RaiseGlobalPooling(graph, {.channel_last = true});
}

TEST(RaiseGlobalPooling, MeansAndWholeWindows) {
  for (const char* expression :
       {"ReduceMean(x) {reduce_axes=[2, 3]}", "ReduceMean(x) {reduce_axes=[2, 3], keep_dims=false}",
        R"(Pooling(x) {pool_type="average", h_kernel=6, w_kernel=6})"}) {
    SCOPED_TRACE(expression);
    Graph graph = GraphOf(expression);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, ChannelFirst));
    EXPECT_EQ(CountOps(graph, OpKind::kGlobalAveragePooling), 1);
    EXPECT_EQ(ResultOf(graph).name(), "r");
  }
  Graph last = GraphOf("ReduceMean(x) {reduce_axes=[1, 2]}");
  EXPECT_TRUE(ExpectPassPreservesResults(last, ChannelLast));
  EXPECT_TRUE(ResultOf(last).attrs<GlobalAveragePoolingAttrs>().channel_last);
}

TEST(RaiseGlobalPooling, LeavesAlone) {
  for (const char* expression :
       {"ReduceMean(x) {reduce_axes=[1, 2]}", "ReduceMean(x) {reduce_axes=[3]}",
        "ReduceMean(v) {reduce_axes=[1, 2]}", "ReduceSum(x) {reduce_axes=[2, 3]}",
        R"(Pooling(x) {pool_type="average", h_kernel=6, w_kernel=5})",
        "Pooling(x) {h_kernel=6, w_kernel=6}"}) {
    SCOPED_TRACE(expression);
    ExpectPassLeavesAlone(GraphOf(expression), ChannelFirst);
  }
}

}  // namespace
}  // namespace qb
