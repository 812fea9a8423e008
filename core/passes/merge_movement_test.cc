#include "core/passes/merge_movement.h"

#include "core/ops/movement.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

TEST(MergeMovement, Reshapes) {
  Graph graph = ParseBody(R"(
    x = Input float32[2x3x4]
    a = Reshape(x) {new_shape=[6, 4]}
    b = Reshape(a) {new_shape=[24]}
    c = Reshape(b) {new_shape=[4, 6]}
    y = Output(c)
    z = Output(a)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, MergeMovement));
  EXPECT_EQ(ResultOf(graph).operand(0)->name(), "x");
  EXPECT_EQ(ResultOf(graph).name(), "c");
  EXPECT_EQ(CountOps(graph, OpKind::kReshape), 2);  // a is an output
}

TEST(MergeMovement, Transposes) {
  Graph graph = ParseBody(R"(
    x = Input float32[2x3x4x5]
    a = Transpose(x) {transpose_axes=[1, 2, 3, 0]}
    b = Transpose(a) {transpose_axes=[3, 1, 0, 2]}
    y = Output(b)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, MergeMovement));
  ASSERT_EQ(CountOps(graph, OpKind::kTranspose), 1);
  EXPECT_THAT(ResultOf(graph).attrs<TransposeAttrs>().transpose_axes,
              ::testing::ElementsAre(0, 2, 1, 3));
}

TEST(MergeMovement, TransposeThatMovesNothingIsAReshape) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x1x4x5]
    a = Transpose(x) {transpose_axes=[0, 2, 3, 1]}
    y = Output(a)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, MergeMovement));
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kReshape);
  EXPECT_EQ(ResultOf(graph).name(), "a");
}

TEST(MergeMovement, Slices) {
  Graph graph = ParseBody(R"(
    x = Input float32[4x20x30]
    a = Slice(x) {axis=[1, 2], start=[3, 1], end=[19, 30], step=[2, 3]}
    b = Slice(a) {axis=[2], start=[1], end=[8], step=[3]}
    c = Slice(b) {axis=[0, 1], start=[1, 2], end=[3, 8], step=[1, 5]}
    y = Output(c)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, MergeMovement));
  EXPECT_EQ(CountOps(graph, OpKind::kSlice), 1);
}

TEST(MergeMovement, LeavesOthersAlone) {
  ExpectPassLeavesAlone(ParseBody(R"(
    x = Input float32[4x6]
    a = Slice(x) {axis=[1], start=[5], end=[-1], step=[-1]}
    b = Slice(a) {axis=[1], start=[1], end=[3], step=[1]}
    t = Transpose(b) {transpose_axes=[1, 0]}
    r = Reshape(t) {new_shape=[8]}
    y = Output(r)
  )"),
                        MergeMovement);
}

}  // namespace
}  // namespace qb
