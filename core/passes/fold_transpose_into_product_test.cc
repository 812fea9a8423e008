#include "core/passes/fold_transpose_into_product.h"

#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[2x3x4x5]
    k = InputConstant float32[60x7] random(1)
    k20 = InputConstant float32[20x7] random(2)
    b = InputConstant float32[7] random(3)
    )",
                                lines, "\n y = Output(r)"));
}

TEST(FoldTransposeIntoProduct, PermutesTheRows) {
  for (const char* lines : {
           "t = Transpose(x) {transpose_axes=[0, 3, 1, 2]} f = Reshape(t) {new_shape=[2, 60]} "
           "r = MatMul(f, k, b)",
           "t = Transpose(x) {transpose_axes=[0, 1, 3, 2]} f = Reshape(t) {new_shape=[2, 3, 20]} "
           "r = MatMul(f, k20)",
           "t = Transpose(x) {transpose_axes=[0, 3, 1, 2]} f = Reshape(t) {new_shape=[2, 60]} "
           "u = Relu(f) v = Tanh(u) r = MatMul(v, k)",
       }) {
    SCOPED_TRACE(lines);
    Graph graph = GraphOf(lines);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldTransposeIntoProduct));
    EXPECT_EQ(CountOps(graph, OpKind::kTranspose), 0);
    // These tensors exist no more.
    EXPECT_EQ(graph.FindNode("f"), nullptr);
    EXPECT_EQ(graph.FindNode("u"), nullptr);
  }
}

TEST(FoldTransposeIntoProduct, ServesSeveralProducts) {
  Graph graph = GraphOf(
      "t = Transpose(x) {transpose_axes=[0, 3, 1, 2]} f = Reshape(t) {new_shape=[2, 60]} "
      "p = MatMul(f, k) q = MatMul(f, k, b) r = Adding(p, q)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FoldTransposeIntoProduct));
  EXPECT_EQ(CountOps(graph, OpKind::kTranspose), 0);
}

TEST(FoldTransposeIntoProduct, LeavesAlone) {
  for (const char* lines : {
           // The rows of the product move, too.
           "t = Transpose(x) {transpose_axes=[1, 0, 2, 3]} f = Reshape(t) {new_shape=[6, 20]} "
           "r = MatMul(f, k20)",
           "t = Transpose(x) {transpose_axes=[0, 3, 2, 1]} f = Reshape(t) {new_shape=[2, 5, 12]} "
           "g = Reshape(x) {new_shape=[2, 12, 5]} r = MatMul(f, g)",
           "t = Transpose(x) {transpose_axes=[0, 3, 1, 2]} f = Reshape(t) {new_shape=[2, 60]} "
           "s = Softmax(f) {axis=1} r = MatMul(s, k)",
       }) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), FoldTransposeIntoProduct);
  }
}

}  // namespace
}  // namespace qb
