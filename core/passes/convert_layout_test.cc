#include "core/passes/convert_layout.h"

#include "core/ops/convolution.h"
#include "core/ops/movement.h"
#include "core/passes/permute_tensor.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

constexpr char kOperands[] = R"(
    x = Input float32[1x4x6x10]
    g = Input float32[1x4x1x1]
    w = InputConstant float32[8x4x3x3] random(1)
    wg = InputConstant float32[8x2x3x3] random(2)
    w1 = InputConstant float32[8x8x1x1] random(3)
    b = InputConstant float32[8] random(4)
    c8 = InputConstant float32[8x1x1] random(5)
    row = InputConstant float32[8] random(6)
    s = InputConstant float32[1] [0.5]
    v = InputConstant float32[8] random(7)
    p = InputConstant float32[8] splat(0.7)
    i = InputConstant int64[3] [1, -1, 0]
    j = InputConstant int64[scalar] [2]
    k = InputConstant float32[8x5] random(8)
    a = Convolution(x, w, b) {h_kernel=3, w_kernel=3, h_stride=2, north_padding=1}
)";

// The graph is lines after the convolution `a` (float32[1x8x3x8]), and gives `r`.
Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(kOperands, lines, "\n y = Output(r)"));
}

// Converts and compares; returns how many Transposes remain.
int64_t TransposesAfter(absl::string_view lines) {
  Graph graph = GraphOf(lines);
  EXPECT_TRUE(ExpectPassPreservesResults(graph, ConvertLayout)) << lines;
  for (const Node* node : graph.nodes()) {
    if (node->op() == OpKind::kConvolution) {
      EXPECT_TRUE(node->attrs<ConvolutionAttrs>().channel_last);
    }
  }
  return CountOps(graph, OpKind::kTranspose);
}

TEST(ConvertLayout, OneConvolution) {
  Graph graph = GraphOf("r = Identity(a)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, ConvertLayout));
  const Node* convolution = graph.FindNode("a");
  EXPECT_EQ(convolution->shape(), Shape({1, 3, 8, 8}));
  EXPECT_EQ(convolution->operand(0)->op(), OpKind::kTranspose);
  EXPECT_EQ(convolution->operand(0)->name(), "x/nhwc");
  EXPECT_EQ(convolution->operand(1)->shape(), Shape({8, 3, 3, 4}));
  EXPECT_TRUE(convolution->operand(1)->is_constant());
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kTranspose);
  EXPECT_EQ(graph.outputs()[0]->shape(), Shape({1, 8, 3, 8}));
}

// Between the Transposes at the border nothing moves.
TEST(ConvertLayout, OperatorsMoveAlong) {
  for (const char* lines : {
           "r = Relu(a)",
           "r = Clip(a) {clip_min_value=-0.5}",
           "r = Pooling(a) {h_kernel=3, w_kernel=2, w_stride=2, south_padding=1}",
           R"(r = Pooling(a) {pool_type="average", h_kernel=2, w_kernel=3, west_padding=1})",
           "r = Convolution(a, w1) {group_number=1}",
           "r = Batchnorm(a, v, v, v, p)",
           "r = Softmax(a) {axis=1}",
           "r = Softmax(a) {axis=3}",
           "r = Adding(a, a)",
           "r = Adding(a, c8)",
           "r = Multiply(c8, a)",
           "r = Sub(a, row)",
           "r = Sub(s, a)",
           "t = Pooling(a) {h_kernel=3, w_kernel=8} r = Multiply(a, t)",
           "t = GlobalAveragePooling(a) r = Adding(t, a)",
           "r = Concatenate(a, a, a) {axis=1}",
           "r = Concatenate(a, a) {axis=2}",
           "r = Slice(a) {axis=[1, 3], start=[1, 7], end=[8, 1], step=[2, -3]}",
           "r = Pad(a) {padding_list=[0, 1, 2, 3, 0, 4, 5, 6], constant=0.25}",
           R"(r = Pad(a) {padding_list=[0, 0, 1, 2, 0, 0, 2, 1], pad_mode="reflect"})",
           (R"(r = Resize(a) {transform_mode="asymmetric", nearest_mode="floor", )"
            "sizes=[1, 8, 6, 24], scales=[1, 1, 2, 3]}"),
           R"(r = Resize(a) {mode="linear", sizes=[1, 8, 6, 24], scales=[1, 1, 2, 3]})",
           "r = DepthToSpace(a) {block_size=2}",
           R"(r = DepthToSpace(a) {block_size=2, order="crd"})",
           ("t = Slice(a) {axis=[2], start=[1], end=[3], step=[1]} "
            "r = SpaceToDepth(t) {block_size=2}"),
           "r = ReduceMean(a) {reduce_axes=[2]}",
           R"(m = TensorCmp(a, c8) {kind="gt"} n = Logical(m) {kind="not"} r = Where(n, a, c8))",
           "r = ReduceProd(a) {reduce_axes=[3]}",
           (R"(r = Resize(a) {transform_mode="tf_crop_and_resize", sizes=[1, 8, 3, 3], )"
            "scales=[1, 1, 1, 0.375], roi=[0, 0, 0, 0.25, 1, 1, 1, 0.75]}"),
           "r = Gather(a, i) {axis=1}",
           "t = GlobalAveragePooling(a) r = Expand(t) {shape=[1, 8, 2, 3]}",
       }) {
    EXPECT_EQ(TransposesAfter(lines), 2) << lines;
  }
}

TEST(ConvertLayout, OutputsWithPixelsOrChannelsAloneNeedNoTranspose) {
  for (const char* lines : {
           "r = GlobalAveragePooling(a)",
           "r = ReduceMax(a) {reduce_axes=[1]}",
           "t = GlobalAveragePooling(a) r = Reshape(t) {new_shape=[1, 8]}",
           "t = GlobalAveragePooling(a) f = Reshape(t) {new_shape=[1, 8]} r = MatMul(f, k)",
           "r = ReduceMean(a) {reduce_axes=[2, 3], keep_dims=false}",
           "r = ReduceSum(a) {reduce_axes=[1, 2], keep_dims=false}",
           ("t = GlobalAveragePooling(a) f = Reshape(t) {new_shape=[1, 8]} "
            "u = Reshape(f) {new_shape=[1, 8, 1, 1]} c = Convolution(u, w1) "
            "t2 = Softmax(c) {axis=1} r = Reshape(t2) {new_shape=[1, 8]}"),
       }) {
    EXPECT_EQ(TransposesAfter(lines), 1) << lines;
  }
}

TEST(ConvertLayout, TransposesOfTheModelAreAbsorbed) {
  // To NHWC and nothing more: the output is stored as it is wanted.
  EXPECT_EQ(TransposesAfter("r = Transpose(a) {transpose_axes=[0, 2, 3, 1]}"), 1);
  EXPECT_EQ(TransposesAfter("t = Transpose(a) {transpose_axes=[0, 2, 3, 1]} u = Relu(t) "
                            "v2 = MatMul(u, k) r = Reshape(v2) {new_shape=[1, 24, 5]}"),
            1);
  EXPECT_EQ(TransposesAfter("t = Transpose(a) {transpose_axes=[0, 2, 3, 1]} u = Relu(t) "
                            "v2 = Transpose(u) {transpose_axes=[0, 3, 1, 2]} "
                            "q = Convolution(v2, w1) r = GlobalAveragePooling(q)"),
            1);
  EXPECT_EQ(TransposesAfter("f = Reshape(a) {new_shape=[1, 8, 24]} "
                            "t = Transpose(f) {transpose_axes=[0, 2, 1]} r = MatMul(t, k)"),
            1);
  EXPECT_EQ(TransposesAfter("f = Reshape(a) {new_shape=[1, 8, 24]} "
                            "r = Transpose(f) {transpose_axes=[0, 2, 1]}"),
            1);
}

// Splitting and swapping channel groups costs one Transpose of the channels.
TEST(ConvertLayout, ChannelShuffle) {
  EXPECT_EQ(TransposesAfter("f = Reshape(a) {new_shape=[1, 2, 4, 3, 8]} "
                            "t = Transpose(f) {transpose_axes=[0, 2, 1, 3, 4]} "
                            "u = Reshape(t) {new_shape=[1, 8, 3, 8]} "
                            "q = Convolution(u, w1) r = GlobalAveragePooling(q)"),
            2);
}

TEST(ConvertLayout, MixedOperands) {
  // x is in source order, the gate too; the convolution is not.
  EXPECT_EQ(TransposesAfter("t = Multiply(x, g) q = Convolution(t, w) {h_kernel=3, w_kernel=3} "
                            "u = GlobalAveragePooling(q) m = GlobalAveragePooling(a) "
                            "r = Concatenate(u, m) {axis=1}"),
            1);  // of x alone: the gate has one pixel
}

// What stands between an input and the first image operator works on channels last.
TEST(ConvertLayout, InputsChangeWhereTheyComeIn) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x3x6x6]
    mean = InputConstant float32[3x1x1] random(1)
    w = InputConstant float32[4x3x1x1] random(2)
    centred = Adding(x, mean)
    c = Convolution(centred, w)
    r = GlobalAveragePooling(c)
    y = Output(r)
    same = Output(x)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, ConvertLayout));
  EXPECT_EQ(CountOps(graph, OpKind::kTranspose), 1);
  EXPECT_EQ(graph.FindNode("centred")->shape(), Shape({1, 6, 6, 3}));
  EXPECT_EQ(graph.outputs()[1]->operand(0)->op(), OpKind::kInput);
}

TEST(ConvertLayout, ScalarGatherDropsAnAxis) {
  EXPECT_EQ(TransposesAfter("r = Gather(a, j) {axis=2}"), 2);
  EXPECT_EQ(TransposesAfter("t = Gather(a, j) {axis=1} r = Relu(t)"), 1);
}

TEST(ConvertLayout, SingleChannelInputIsReshaped) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x1x8x8]
    w = InputConstant float32[4x1x3x3] random(1)
    c = Convolution(x, w) {h_kernel=3, w_kernel=3}
    r = GlobalAveragePooling(c)
    y = Output(r)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, ConvertLayout));
  EXPECT_EQ(CountOps(graph, OpKind::kTranspose), 0);
}

TEST(ConvertLayout, LeavesGraphsWithoutImages) {
  ExpectPassLeavesAlone(ParseBody(R"(
    x = Input float32[3x4]
    t = Transpose(x) {transpose_axes=[1, 0]}
    r = Relu(t)
    y = Output(r)
  )"),
                        ConvertLayout);
}

TEST(ConvertLayout, ASecondTimeChangesNothing) {
  Graph graph = GraphOf("r = Relu(a)");
  QB_ASSERT_OK(ConvertLayout(graph));
  ExpectPassLeavesAlone(std::move(graph), ConvertLayout);
}

// An input that is also an output, and one tensor that is an output twice.
TEST(ConvertLayout, SharedOutputs) {
  Graph graph = ParseBody(R"(
    x = Input float32[1x2x4x5]
    w = InputConstant float32[3x2x1x1] random(1)
    c = Convolution(x, w)
    d = Relu(c)
    first = Output(c)
    second = Output(c)
    third = Output(x)
    fourth = Output(d)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, ConvertLayout));
  EXPECT_EQ(CountOps(graph, OpKind::kTranspose), 3);
}

TEST(PermuteTensor, AsTranspose) {
  const Tensor tensor = Tensor::OfFloats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor permuted = PermuteTensor(tensor, {1, 0});
  EXPECT_EQ(permuted.shape(), Shape({3, 2}));
  EXPECT_THAT(permuted.values<float>(), ::testing::ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(PermuteTensor(Tensor::OfFloats(Shape(), {7}), {}).values<float>()[0], 7);
}

TEST(ConvertLayout, TransposeConvolutionAndSlopes) {
  EXPECT_EQ(TransposesAfter("u = TransposeConvolution(a, w1, b) {h_stride=2, w_stride=2, "
                            "south_out_padding=1} t = PRelu(u, c8) r = GlobalAveragePooling(t)"),
            1);
  Graph graph = GraphOf("r = PRelu(a, c8)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, ConvertLayout));
  for (const Node* node : graph.nodes()) {
    if (node->op() == OpKind::kPRelu) {
      const Shape& slope = node->operand(1)->shape();
      EXPECT_EQ(slope[slope.rank() - 1], 8);
    }
  }
}

}  // namespace
}  // namespace qb
