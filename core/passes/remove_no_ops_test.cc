#include "core/passes/remove_no_ops.h"

#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

// Each expression passes x through.
TEST(RemoveNoOps, RemovesWhatChangesNothing) {
  for (const char* expression : {
           "Identity(x)",
           R"(Cast(x) {dtype="float32"})",
           "Reshape(x) {new_shape=[1, 4, 6, 6]}",
           "Transpose(x) {transpose_axes=[0, 1, 2, 3]}",
           "Slice(x) {axis=[1, 3], start=[0, 0], end=[4, 6], step=[1, 1]}",
           "Pad(x) {padding_list=[0, 0, 0, 0, 0, 0, 0, 0]}",
           "Expand(x) {shape=[1, 4, 6, 6]}",
           "Concatenate(x) {axis=2}",
           "Resize(x) {sizes=[1, 4, 6, 6], scales=[1, 1, 1, 1]}",
           "Pooling(x)",
           R"(Pooling(x) {pool_type="average"})",
           "DepthToSpace(x)",
           "SpaceToDepth(x)",
           "Clip(x)",
           "Adding(x, zeros)",
           "Multiply(x, one)",
           "Div(x, one)",
       }) {
    SCOPED_TRACE(expression);
    Graph graph = ParseBody(absl::StrCat(R"(
      x = Input float32[1x4x6x6]
      zeros = InputConstant float32[4x1x1] splat(0)
      one = InputConstant float32[1] [1]
      n = )",
                                         expression, R"(
      r = Relu(n)
      y = Output(r)
      z = Output(n)
    )"));
    EXPECT_TRUE(ExpectPassPreservesResults(graph, RemoveNoOps));
    EXPECT_EQ(graph.node_count(), 4);
    EXPECT_EQ(graph.outputs()[1]->name(), "z");
  }
}

TEST(RemoveNoOps, KeepsWhatLooksLikeOne) {
  for (const char* expression : {
           "Slice(x) {axis=[3], start=[5], end=[-1], step=[-1]}",
           "Transpose(x) {transpose_axes=[0, 1, 3, 2]}",
           "Resize(x) {sizes=[1, 4, 6, 6], scales=[1, 1, 1, 1.01]}",
           "Pad(x) {padding_list=[0, 0, 1, 0, 0, 0, -1, 0]}",
           "Clip(x) {clip_min_value=-1.0}",
           "Adding(x, one)",
           R"(Adding(x, zeros) {activation="relu"})",
           "Pooling(x) {h_kernel=3, north_padding=1, south_padding=1}",
           "Expand(one) {shape=[1, 4, 6, 6]}",
       }) {
    SCOPED_TRACE(expression);
    ExpectPassLeavesAlone(ParseBody(absl::StrCat(R"(
      x = Input float32[1x4x6x6]
      zeros = InputConstant float32[4x1x1] splat(0)
      one = InputConstant float32[1] [1]
      all = Adding(zeros, one)
      n = )",
                                                 expression, R"(
      sum = Adding(n, all)
      y = Output(sum)
    )")),
                          RemoveNoOps);
  }
}

}  // namespace
}  // namespace qb
