#include "core/ir/graph.h"

#include <gtest/gtest.h>

namespace qb {
namespace {

TensorType F(Shape shape) { return {DType::kFloat32, std::move(shape)}; }

std::unique_ptr<Attributes> None() { return std::make_unique<NoAttrs>(); }

TEST(Graph, NamesStayUnique) {
  Graph graph;
  Node* a = graph.AddInput("x", F({2}));
  Node* b = graph.AddNode(OpKind::kRelu, "x", {a}, None(), F({2}));
  Node* c = graph.AddNode(OpKind::kRelu, "", {b}, None(), F({2}));
  EXPECT_EQ(a->name(), "x");
  EXPECT_EQ(b->name(), "x_1");
  EXPECT_EQ(c->name(), "node_1");
  EXPECT_EQ(graph.FindNode("x_1"), b);
  // An output keeps its name although a node bears it.
  EXPECT_EQ(graph.AddOutput("x", c)->name(), "x");
}

TEST(Graph, ReplaceUsesKeepsDefUse) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  Node* relu = graph.AddNode(OpKind::kRelu, "r", {x}, None(), F({2}));
  Node* sum = graph.AddNode(OpKind::kAdding, "s", {relu, relu}, None(), F({2}));
  graph.AddOutput("y", sum);
  EXPECT_EQ(relu->users().size(), 2u);
  graph.ReplaceUses(relu, x);
  EXPECT_TRUE(relu->users().empty());
  EXPECT_EQ(sum->operand(0), x);
  EXPECT_EQ(sum->operand(1), x);
  EXPECT_EQ(graph.RemoveDeadNodes(), 1);
  EXPECT_EQ(graph.FindNode("r"), nullptr);
}

TEST(Graph, TopologicalOrderFollowsOperandsAfterRewrites) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  Node* a = graph.AddNode(OpKind::kRelu, "a", {x}, None(), F({2}));
  Node* b = graph.AddNode(OpKind::kRelu, "b", {x}, None(), F({2}));
  graph.ReplaceOperand(a, 0, b);  // now x -> b -> a
  graph.AddOutput("y", a);
  const std::vector<Node*> order = graph.TopologicalOrder();
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(order[1], b);
  EXPECT_EQ(order[2], a);
}

TEST(Graph, CloneIsDeepAndSharesConstants) {
  Graph graph("g");
  Node* x = graph.AddInput("x", F({2}));
  Node* w = graph.AddConstant("w", Tensor::OfFloats({2}, {1, 2}));
  graph.AddOutput("y", graph.AddNode(OpKind::kAdding, "s", {x, w}, None(), F({2})));
  const Graph copy = graph.Clone();
  EXPECT_EQ(copy.node_count(), graph.node_count());
  EXPECT_NE(copy.FindNode("w"), w);
  EXPECT_EQ(copy.FindNode("w")->constant().raw(), w->constant().raw());
  EXPECT_EQ(copy.outputs()[0]->operand(0)->operand(1), copy.FindNode("w"));
}

TEST(Shape, BroadcastAndAxes) {
  EXPECT_EQ(BroadcastShapes({2, 1, 3}, {4, 1}).value(), Shape({2, 4, 3}));
  EXPECT_FALSE(BroadcastShapes({2}, {3}).ok());
  EXPECT_EQ(NormalizeAxis(-1, 3).value(), 2);
  EXPECT_FALSE(NormalizeAxis(3, 3).ok());
  const std::vector<int64_t> huge = {int64_t{1} << 30, int64_t{1} << 30};
  EXPECT_FALSE(CheckedElements(huge).ok());
}

struct SampleAttrs final : AttributesOf<SampleAttrs> {
  int64_t count = 3;
  float alpha = 0.5f;
  std::vector<int64_t> axes = {1};
  template <typename Self, typename Visitor>
  static void VisitFields(Self& self, Visitor&& visit) {
    visit("count", self.count);
    visit("alpha", self.alpha);
    visit("axes", self.axes);
  }
};

TEST(Attributes, OneFieldListServesAll) {
  SampleAttrs sample;
  EXPECT_TRUE(sample.Set("count", int64_t{7}).ok());
  EXPECT_FALSE(sample.Set("count", std::string("7")).ok());
  EXPECT_FALSE(sample.Set("nothing", int64_t{7}).ok());
  EXPECT_EQ(sample.Clone()->Fields(), sample.Fields());
  EXPECT_EQ(std::get<int64_t>(sample.Fields()[0].value), 7);
}

}  // namespace
}  // namespace qb
