#include "core/ops/pointwise_closure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/base/testing/status_matchers.h"
#include "core/ops/graph_text.h"

namespace qb {
namespace {

TEST(PointwiseClosures, JoinsASpelledOutHardSwish) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, GraphFromText(R"(graph "g" {
    x = Input float32[1x4]
    three = InputConstant float32[1] [3]
    sixth = InputConstant float32[1] [0.16666667]
    a = Adding(x, three)
    b = Clip(a) {clip_min_value=0.0, clip_max_value=6.0}
    c = Multiply(x, b)
    d = Multiply(c, sixth)
    y = Output(d)
  })"));
  const PointwiseClosures closures(graph);
  for (const char* name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(closures.SourceOf(graph.FindNode(name)), graph.FindNode("x")) << name;
    EXPECT_EQ(closures.IsNeededOutside(graph.FindNode(name)), name[0] == 'd') << name;
  }
  for (const double x : {-4.0, -1.0, 0.0, 1.5, 7.0}) {
    const double expected = x * std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0;
    EXPECT_NEAR(closures.Evaluate(graph.FindNode("d"), x), expected, 1e-6);
  }
}

TEST(PointwiseClosures, EndsWhereASecondValueComesIn) {
  QB_ASSERT_OK_AND_ASSIGN(const Graph graph, GraphFromText(R"(graph "g" {
    x = Input float32[1x4]
    z = Input float32[1x4]
    v = InputConstant float32[4] [1, 2, 3, 4]
    s = Sigmoid(x)
    p = Multiply(s, z)
    q = Adding(x, v)
    t = Tanh(p)
    y0 = Output(t)
    y1 = Output(q)
  })"));
  const PointwiseClosures closures(graph);
  EXPECT_EQ(closures.SourceOf(graph.FindNode("s")), graph.FindNode("x"));
  EXPECT_TRUE(closures.IsNeededOutside(graph.FindNode("s")));
  EXPECT_EQ(closures.SourceOf(graph.FindNode("p")), nullptr);
  EXPECT_EQ(closures.SourceOf(graph.FindNode("q")), nullptr);  // a vector is no scalar
  EXPECT_EQ(closures.SourceOf(graph.FindNode("t")), graph.FindNode("p"));
}

}  // namespace
}  // namespace qb
