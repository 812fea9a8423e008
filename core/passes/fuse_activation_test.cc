#include "core/passes/fuse_activation.h"

#include <limits>

#include "core/ops/convolution.h"
#include "core/ops/elementwise.h"
#include "core/passes/fused_activation.h"
#include "core/passes/testing/pass_test.h"

namespace qb {
namespace {

using namespace qb::testing;  // NOLINT(google-build-using-namespace)

Graph GraphOf(absl::string_view lines) {
  return ParseBody(absl::StrCat(R"(
    x = Input float32[1x4x6x6]
    z = Input float32[1x4x6x6]
    m = Input float32[3x4]
    k = InputConstant float32[4x5] random(1)
    w = InputConstant float32[4x4x1x1] random(2)
    b = InputConstant float32[4] random(3)
    )",
                                lines, "\n y = Output(r)"));
}

TEST(FuseActivation, IntoEveryProducer) {
  for (const char* lines :
       {"a = Convolution(x, w, b) r = Relu(a)",
        "a = Convolution(x, w) r = Clip(a) {clip_min_value=0.0, clip_max_value=1.0}",
        "a = TransposeConvolution(x, w, b) {h_stride=2} r = Clip(a) {clip_max_value=1.0}",
        "a = MatMul(m, k) r = Relu(a)", "a = Adding(x, z) r = Relu(a)",
        "a = Multiply(x, z) r = Clip(a) {clip_min_value=-1.0}",
        "a = Adding(x, z) b2 = Relu(a) r = Clip(b2) {clip_max_value=0.5}"}) {
    SCOPED_TRACE(lines);
    Graph graph = GraphOf(lines);
    EXPECT_TRUE(ExpectPassPreservesResults(graph, FuseActivation, 0.0f));
    EXPECT_EQ(CountOps(graph, OpKind::kRelu) + CountOps(graph, OpKind::kClip), 0);
    EXPECT_EQ(ResultOf(graph).name(), "r");
    EXPECT_EQ(graph.FindNode("a"), nullptr);
  }
}

TEST(FuseActivation, MovesBeforePoolingAndReshape) {
  Graph graph = GraphOf(
      "a = Convolution(x, w) p = Pooling(a) {h_kernel=2, w_kernel=2} "
      "f = Reshape(p) {new_shape=[1, 100]} r = Relu(f)");
  EXPECT_TRUE(ExpectPassPreservesResults(graph, FuseActivation, 0.0f));
  EXPECT_EQ(ResultOf(graph).name(), "r");
  EXPECT_EQ(ResultOf(graph).op(), OpKind::kReshape);
  const Node* convolution = graph.FindNode("a/clamped");
  ASSERT_NE(convolution, nullptr);
  EXPECT_EQ(convolution->attrs<ConvolutionAttrs>().activation.kind, ActivationKind::kRelu);
  EXPECT_NE(graph.FindNode("p/clamped"), nullptr);
}

TEST(FuseActivation, LeavesAlone) {
  for (const char* lines : {
           "a = Convolution(x, w) c = Relu(a) r = Adding(c, a)",
           R"(a = Convolution(x, w) p = Pooling(a) {pool_type="average", h_kernel=2} r = Relu(p))",
           "a = Convolution(x, w) s = Sigmoid(a) r = Relu(s)",
           "a = Convolution(x, w) p = Pooling(a) c = Relu(p) r = Adding(c, a)",
           "r = Relu(x)",
       }) {
    SCOPED_TRACE(lines);
    ExpectPassLeavesAlone(GraphOf(lines), FuseActivation);
  }
}

Activation Clip(float min, float max) {
  Activation activation;
  activation.kind = ActivationKind::kClip;
  activation.min = min;
  activation.max = max;
  return activation;
}

float Apply(const Activation& activation, float x) {
  switch (activation.kind) {
    case ActivationKind::kRelu:
      return std::max(x, 0.0f);
    case ActivationKind::kClip:
      return std::min(std::max(x, activation.min), activation.max);
    case ActivationKind::kNone:
      break;
  }
  return x;
}

// Against applying one after the other, over all pairs of these bounds, also those out of order.
TEST(ComposeClamps, EqualsOneAfterTheOther) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<Activation> clamps = {Activation()};
  for (const float min : {-inf, -2.0f, 0.0f, 1.0f, 3.0f}) {
    for (const float max : {-1.0f, 0.0f, 2.0f, 6.0f, inf}) {
      clamps.push_back(Clip(min, max));
    }
  }
  for (const Activation& first : clamps) {
    for (const Activation& second : clamps) {
      for (float x = -8.0f; x <= 8.0f; x += 0.5f) {
        ASSERT_EQ(Apply(ComposeClamps(first, second), x), Apply(second, Apply(first, x)))
            << first.min << " " << first.max << " then " << second.min << " " << second.max
            << " at " << x;
      }
    }
  }
}

}  // namespace
}  // namespace qb
