#include "core/passes/pipeline.h"

#include <map>
#include <set>

#include "core/base/status_macros.h"
#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/ops/pooling.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

absl::StatusOr<bool> RunAll(Graph& graph) {
  QB_RETURN_IF_ERROR(RunPasses(graph));
  return true;
}

// Every image operator works on channels last.
void ExpectChannelLast(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    if (node->op() == OpKind::kConvolution) {
      EXPECT_TRUE(node->attrs<ConvolutionAttrs>().channel_last) << node->name();
      EXPECT_TRUE(node->operand(1)->is_constant()) << node->name();
    } else if (node->op() == OpKind::kPooling) {
      EXPECT_TRUE(node->attrs<PoolingAttrs>().channel_last) << node->name();
    }
  }
}

// The kinds that remain, with their numbers; borders and constants left out.
std::map<std::string, int64_t> Simplified(Graph& graph, float tolerance = 1e-5f) {
  EXPECT_TRUE(ExpectPassPreservesResults(graph, RunAll, tolerance));
  ExpectChannelLast(graph);
  std::map<std::string, int64_t> kinds;
  for (const Node* node : graph.nodes()) {
    if (node->operand_count() > 0 && node->op() != OpKind::kOutput) {
      ++kinds[std::string(OpDefOf(node->op()).name)];
    }
  }
  return kinds;
}

using Kinds = std::map<std::string, int64_t>;

TEST(Pipeline, ResNetLike) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x3x32x32]
    w0 = InputConstant float32[8x3x3x3] random(1)
    w1 = InputConstant float32[8x8x3x3] random(2)
    w2 = InputConstant float32[16x8x3x3] random(3)
    w3 = InputConstant float32[16x16x3x3] random(4)
    ws = InputConstant float32[16x8x1x1] random(5)
    g8 = InputConstant float32[8] random(6)
    v8 = InputConstant float32[8] splat(2)
    g16 = InputConstant float32[16] random(7)
    v16 = InputConstant float32[16] splat(3)
    fc = InputConstant float32[10x16] random(8)
    fc_bias = InputConstant float32[1x10] random(9)
    c0 = Convolution(image, w0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    n0 = Batchnorm(c0, g8, g8, g8, v8)
    r0 = Relu(n0)
    p0 = Pooling(r0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    c1 = Convolution(p0, w1) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    n1 = Batchnorm(c1, g8, g8, g8, v8)
    s1 = Adding(n1, p0)
    r1 = Relu(s1)
    c2 = Convolution(r1, w2) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    n2 = Batchnorm(c2, g16, g16, g16, v16)
    r2 = Clip(n2) {clip_min_value=0.0, clip_max_value=6.0}
    c3 = Convolution(r2, w3) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    n3 = Batchnorm(c3, g16, g16, g16, v16)
    cs = Convolution(r1, ws) {h_stride=2, w_stride=2}
    ns = Batchnorm(cs, g16, g16, g16, v16)
    s2 = Adding(n3, ns)
    r3 = Relu(s2)
    pool = ReduceMean(r3) {reduce_axes=[2, 3]}
    flat = Reshape(pool) {new_shape=[1, 16]}
    drop = Identity(flat)
    fct = Transpose(fc) {transpose_axes=[1, 0]}
    fm = MatMul(drop, fct)
    logits = Adding(fm, fc_bias)
    probabilities = Softmax(logits) {axis=1}
    probabilities = Output(probabilities)
  )");
  EXPECT_EQ(Simplified(graph), (Kinds{{"Transpose", 1},
                                      {"Convolution", 5},
                                      {"Pooling", 1},
                                      {"Adding", 2},
                                      {"GlobalAveragePooling", 1},
                                      {"Reshape", 1},
                                      {"MatMul", 1},
                                      {"Softmax", 1}}));
  // The names of the model's tensors stay where these are still computed.
  for (const char* name : {"r0", "p0", "n1", "r1", "r2", "ns", "r3", "pool", "flat", "logits"}) {
    EXPECT_NE(graph.FindNode(name), nullptr) << name;
  }
  EXPECT_EQ(graph.FindNode("c0"), nullptr);
  EXPECT_EQ(graph.FindNode("r1")->attrs<ElementwiseAttrs>().activation.kind, ActivationKind::kRelu);
}

TEST(Pipeline, ShuffleNetLike) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x3x16x16]
    w0 = InputConstant float32[12x3x3x3] random(1)
    w1 = InputConstant float32[12x4x1x1] random(2)
    wd = InputConstant float32[12x1x3x3] random(3)
    c0 = Convolution(image, w0) {h_kernel=3, w_kernel=3}
    r0 = Relu(c0)
    c1 = Convolution(r0, w1) {group_number=3}
    split = Reshape(c1) {new_shape=[1, 3, 4, 14, 14]}
    swap = Transpose(split) {transpose_axes=[0, 2, 1, 3, 4]}
    joined = Reshape(swap) {new_shape=[1, 12, 14, 14]}
    d = Convolution(joined, wd) {h_kernel=3, w_kernel=3, group_number=12, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    half = Slice(d) {axis=[1], start=[0], end=[6], step=[1]}
    rest = Slice(d) {axis=[1], start=[6], end=[12], step=[1]}
    both = Concatenate(rest, half) {axis=1}
    sum = Adding(both, r0)
    out = GlobalAveragePooling(sum)
    y = Output(out)
  )");
  // The output is 1 x C x 1 x 1: a Reshape. The shuffle is a Transpose of the channels between two.
  EXPECT_EQ(Simplified(graph), (Kinds{{"Transpose", 2},
                                      {"Convolution", 3},
                                      {"Reshape", 3},
                                      {"Slice", 2},
                                      {"Concatenate", 1},
                                      {"Adding", 1},
                                      {"GlobalAveragePooling", 1}}));
  EXPECT_EQ(graph.FindNode("joined")->shape(), Shape({1, 14, 14, 12}));
}

TEST(Pipeline, SqueezeNetLike) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x3x24x24]
    w0 = InputConstant float32[8x3x3x3] random(1)
    b0 = InputConstant float32[8] random(2)
    ws = InputConstant float32[4x8x1x1] random(3)
    we1 = InputConstant float32[8x4x1x1] random(4)
    we3 = InputConstant float32[8x4x3x3] random(5)
    wl = InputConstant float32[10x16x1x1] random(6)
    c0 = Convolution(image, w0, b0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2}
    r0 = Relu(c0)
    p0 = Pooling(r0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, is_ceil_mode=true}
    s = Convolution(p0, ws)
    sr = Relu(s)
    e1 = Convolution(sr, we1)
    e1r = Relu(e1)
    e3 = Convolution(sr, we3) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    e3r = Relu(e3)
    cat = Concatenate(e1r, e3r) {axis=1}
    drop = Identity(cat)
    last = Convolution(drop, wl)
    lastr = Relu(last)
    pool = Pooling(lastr) {pool_type="average", h_kernel=5, w_kernel=5}
    flat = Reshape(pool) {new_shape=[1, 10]}
    soft = Softmax(flat) {axis=1}
    y = Output(soft)
  )");
  EXPECT_EQ(Simplified(graph), (Kinds{{"Transpose", 1},
                                      {"Convolution", 5},
                                      {"Pooling", 1},
                                      {"Concatenate", 1},
                                      {"GlobalAveragePooling", 1},
                                      {"Reshape", 1},
                                      {"Softmax", 1}}));
}

// As CNTK writes it: biases are Adding of [C, 1, 1], weights of the product are a Reshape.
TEST(Pipeline, MnistLike) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x1x28x28]
    w0 = InputConstant float32[8x1x5x5] random(1)
    b0 = InputConstant float32[8x1x1] random(2)
    w1 = InputConstant float32[16x8x5x5] random(3)
    b1 = InputConstant float32[16x1x1] random(4)
    fc = InputConstant float32[16x4x4x10] random(5)
    fc_bias = InputConstant float32[1x10] random(6)
    c0 = Convolution(image, w0) {h_kernel=5, w_kernel=5, north_padding=2, south_padding=2, west_padding=2, east_padding=2}
    a0 = Adding(c0, b0)
    r0 = Relu(a0)
    p0 = Pooling(r0) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2}
    c1 = Convolution(p0, w1) {h_kernel=5, w_kernel=5, north_padding=2, south_padding=2, west_padding=2, east_padding=2}
    a1 = Adding(c1, b1)
    r1 = Relu(a1)
    p1 = Pooling(r1) {h_kernel=3, w_kernel=3, h_stride=3, w_stride=3}
    flat = Reshape(p1) {new_shape=[1, 256]}
    fcr = Reshape(fc) {new_shape=[256, 10]}
    m = MatMul(flat, fcr)
    logits = Adding(m, fc_bias)
    y = Output(logits)
  )");
  EXPECT_EQ(Simplified(graph),
            (Kinds{{"Convolution", 2}, {"Pooling", 2}, {"Reshape", 2}, {"MatMul", 1}}));
  EXPECT_EQ(ResultOf(graph).name(), "logits");
  EXPECT_EQ(ResultOf(graph).operand_count(), 3);
}

TEST(Pipeline, SuperResolutionLike) {
  Graph graph = ParseBody(R"(
    luma = Input float32[1x1x12x12]
    w0 = InputConstant float32[8x1x5x5] random(1)
    w1 = InputConstant float32[9x8x3x3] random(2)
    b1 = InputConstant float32[9] random(3)
    c0 = Convolution(luma, w0) {h_kernel=5, w_kernel=5, north_padding=2, south_padding=2, west_padding=2, east_padding=2}
    r0 = Relu(c0)
    c1 = Convolution(r0, w1, b1) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    up = DepthToSpace(c1) {block_size=3, order="crd"}
    y = Output(up)
  )");
  // One channel in and out: both borders keep the order of the elements.
  EXPECT_EQ(Simplified(graph), (Kinds{{"Convolution", 2}, {"DepthToSpace", 1}, {"Reshape", 2}}));
  EXPECT_EQ(graph.outputs()[0]->shape(), Shape({1, 1, 36, 36}));
}

// Option-A shortcut of CIFAR ResNets: strided slices in two steps, and a Pad of the channels.
TEST(Pipeline, PaddedShortcut) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x4x8x8]
    w0 = InputConstant float32[8x4x3x3] random(1)
    c0 = Convolution(image, w0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    s0 = Slice(image) {axis=[2], start=[0], end=[8], step=[2]}
    s1 = Slice(s0) {axis=[3], start=[0], end=[8], step=[2]}
    padded = Pad(s1) {padding_list=[0, 2, 0, 0, 0, 2, 0, 0]}
    sum = Adding(c0, padded)
    r = Relu(sum)
    y = Output(r)
  )");
  const Kinds kinds = Simplified(graph);
  EXPECT_EQ(kinds.at("Slice"), 1);
  EXPECT_EQ(kinds.at("Convolution"), 1);
  EXPECT_EQ(kinds.at("Transpose"), 2);  // the image, and the output
}

TEST(Pipeline, PreActivation) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x4x8x8]
    w0 = InputConstant float32[8x4x3x3] random(1)
    w1 = InputConstant float32[8x8x3x3] random(2)
    g = InputConstant float32[8] random(3)
    v = InputConstant float32[8] splat(2)
    c0 = Convolution(image, w0) {h_kernel=3, w_kernel=3}
    n = Batchnorm(c0, g, g, g, v)
    r = Relu(n)
    c1 = Convolution(r, w1) {h_kernel=3, w_kernel=3, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    sum = Adding(c1, c0)
    y = Output(sum)
  )");
  const Kinds kinds = Simplified(graph);
  // The normalization has its own depthwise convolution with the activation.
  EXPECT_EQ(kinds, (Kinds{{"Transpose", 2}, {"Convolution", 3}, {"Adding", 1}}));
}

TEST(Pipeline, InputNormalizationAndPadding) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x3x8x8]
    mean = InputConstant float32[3x1x1] random(1)
    deviation = InputConstant float32[3x1x1] splat(0.25)
    w0 = InputConstant float32[8x3x3x3] random(2)
    centred = Sub(image, mean)
    scaled = Div(centred, deviation)
    padded = Pad(scaled) {padding_list=[0, 0, 0, 0, 0, 0, 1, 1]}
    c0 = Convolution(padded, w0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2}
    y = Output(c0)
  )");
  const Kinds kinds = Simplified(graph);
  EXPECT_EQ(kinds.count("Pad"), 0u);
  // The scale is in the weights; the shift cannot pass the padding and is a convolution of its own.
  EXPECT_EQ(kinds.count("Multiply") + kinds.count("Adding"), 0u);
  EXPECT_EQ(kinds.at("Convolution"), 2);
}

TEST(Pipeline, YoloLikeHead) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x3x16x16]
    w0 = InputConstant float32[8x3x3x3] random(1)
    w1 = InputConstant float32[8x8x1x1] random(2)
    w2 = InputConstant float32[21x16x1x1] random(3)
    c0 = Convolution(image, w0) {h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, south_padding=1, west_padding=1, east_padding=1}
    g0 = Sigmoid(c0)
    a0 = Multiply(c0, g0)
    c1 = Convolution(a0, w1)
    p1 = Pooling(c1) {h_kernel=2, w_kernel=2, h_stride=2, w_stride=2}
    up = Resize(p1) {transform_mode="asymmetric", nearest_mode="floor", sizes=[1, 8, 8, 8], scales=[1, 1, 2, 2]}
    cat = Concatenate(up, a0) {axis=1}
    c2 = Convolution(cat, w2)
    boxes = Reshape(c2) {new_shape=[1, 3, 7, 8, 8]}
    moved = Transpose(boxes) {transpose_axes=[0, 1, 3, 4, 2]}
    scores = Sigmoid(moved)
    flat = Reshape(scores) {new_shape=[1, 192, 7]}
    y = Output(flat)
  )");
  const Kinds kinds = Simplified(graph);
  EXPECT_EQ(kinds.at("Swish"), 1);
  EXPECT_EQ(kinds.at("Transpose"), 2);
}

TEST(Pipeline, SourceLayoutKeepsChannelsFirst) {
  Graph graph = ParseBody(R"(
    image = Input float32[1x3x8x8]
    w0 = InputConstant float32[8x3x3x3] random(1)
    c0 = Convolution(image, w0) {h_kernel=3, w_kernel=3}
    r0 = Relu(c0)
    y = Output(r0)
  )");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, [](Graph& g) -> absl::StatusOr<bool> {
    QB_RETURN_IF_ERROR(RunPasses(g, {.layout = GraphLayout::kSource, .dump = nullptr}));
    return true;
  }));
  EXPECT_EQ(graph.node_count(), 4);
  EXPECT_FALSE(ResultOf(graph).attrs<ConvolutionAttrs>().channel_last);
}

TEST(Pipeline, DumpsEveryChangeAndListsThePasses) {
  Graph graph = ParseBody("x = Input float32[2] i = Identity(x) r = Relu(i) y = Output(r)");
  std::vector<std::string> seen;
  PassOptions options;
  options.dump = [&](absl::string_view pass, const Graph&) { seen.emplace_back(pass); };
  QB_ASSERT_OK(RunPasses(graph, options));
  EXPECT_THAT(seen, ::testing::ElementsAre("remove_no_ops"));
  std::set<std::string> names;
  for (const PassRow& pass : AllPasses()) {
    names.insert(std::string(pass.name));
  }
  EXPECT_GE(names.size(), 13u);
}

TEST(Pipeline, RefusesABrokenGraph) {
  Graph graph("broken");
  graph.AddInput("x", {DType::kFloat32, {2}});
  EXPECT_THAT(RunPasses(graph),
              StatusIs(absl::StatusCode::kInternal, ::testing::HasSubstr("after import")));
}

// Two runs over equal graphs give equal text: nothing depends on addresses.
TEST(Pipeline, IsDeterministic) {
  const Graph graph = ParseBody(R"(
    image = Input float32[1x4x8x8]
    w0 = InputConstant float32[4x4x1x1] random(1)
    a = Convolution(image, w0)
    b = Convolution(image, w0)
    c = Convolution(a, w0)
    s = Adding(c, b)
    t = Concatenate(s, a, image) {axis=1}
    y = Output(t)
    z = Output(s)
  )");
  std::set<std::string> texts;
  for (int i = 0; i < 4; ++i) {
    Graph copy = graph.Clone();
    QB_ASSERT_OK(RunPasses(copy));
    texts.insert(GraphToText(copy));
  }
  EXPECT_EQ(texts.size(), 1u);
}

}  // namespace
}  // namespace qb
