#include "core/ops/verifier.h"

#include "core/base/testing/status_matchers.h"
#include "core/ops/movement.h"
#include "core/ops/pointwise.h"

namespace qb {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

TensorType F(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
std::unique_ptr<Attributes> None() { return std::make_unique<NoAttrs>(); }

void ExpectFault(const Graph& graph, absl::string_view message) {
  EXPECT_THAT(VerifyGraph(graph, "a test"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr(std::string(message))));
}

TEST(Verifier, AcceptsAGraph) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  graph.AddInput("unused", F({2}));
  Node* relu = graph.AddNode(OpKind::kRelu, "r", {x}, None(), F({2}));
  graph.AddOutput("x", relu);
  QB_EXPECT_OK(VerifyGraph(graph, "a test"));
  QB_EXPECT_OK(VerifyGraph(graph.Clone(), "a test"));
}

TEST(Verifier, FindsMissingAndDoubleOutputs) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  ExpectFault(graph, "after a test: the graph has no output");
  graph.AddOutput("y", x);
  graph.AddOutput("y", x);
  ExpectFault(graph, "node 'y' bears the name of another output");
}

TEST(Verifier, FindsWrongTypes) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  Node* relu = graph.AddNode(OpKind::kRelu, "r", {x}, None(), F({3}));
  graph.AddOutput("y", relu);
  ExpectFault(graph, "node 'r' has type float32[3] but computes float32[2]");
  graph.SetType(relu, F({2}));
  ExpectFault(graph, "node 'y' has type float32[3]");
  graph.SetType(graph.outputs()[0], F({2}));
  QB_EXPECT_OK(VerifyGraph(graph, "a test"));
  graph.SetType(x, {DType::kUndefined, {2}});
  ExpectFault(graph, "node 'x' has no element type");
  graph.SetType(x, F({-2}));
  ExpectFault(graph, "a dimension is negative");
}

TEST(Verifier, FindsConstantsOfAnotherType) {
  Graph graph;
  Node* c = graph.AddConstant("c", Tensor::OfFloats({2}, {1, 2}));
  graph.AddOutput("y", c);
  graph.SetType(c, F({1}));
  ExpectFault(graph, "node 'c' of type float32[1] has a value of type float32[2]");
}

TEST(Verifier, FindsArityAndAttributesOfAnotherOperator) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  Node* sum = graph.AddNode(OpKind::kRelu, "s", {x, x}, None(), F({2}));
  graph.AddOutput("y", sum);
  ExpectFault(graph, "node 's' (Relu) it has 2 operands");
  Graph other;
  Node* z = other.AddInput("x", F({2}));
  other.AddOutput("y",
                  other.AddNode(OpKind::kRelu, "r", {z}, std::make_unique<ReshapeAttrs>(), F({2})));
  ExpectFault(other, "node 'r' has the attributes of another operator");
}

TEST(Verifier, FindsCycles) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  Node* a = graph.AddNode(OpKind::kRelu, "a", {x}, None(), F({2}));
  Node* b = graph.AddNode(OpKind::kRelu, "b", {a}, None(), F({2}));
  graph.AddOutput("y", b);
  graph.ReplaceOperand(a, 0, b);
  ExpectFault(graph, "is part of a cycle");
}

TEST(Verifier, FindsForeignOperandsAndUsesOfOutputs) {
  Graph graph;
  Node* x = graph.AddInput("x", F({2}));
  Node* out = graph.AddOutput("y", x);
  graph.AddNode(OpKind::kRelu, "a", {out}, None(), F({2}));
  ExpectFault(graph, "uses the output 'y'");
  Graph first;
  Graph second;
  Node* foreign = first.AddInput("x", F({2}));
  second.AddOutput("y", second.AddNode(OpKind::kRelu, "a", {foreign}, None(), F({2})));
  ExpectFault(second, "node 'a' has an operand outside the graph");
  ExpectFault(first, "has no output");
}

}  // namespace
}  // namespace qb
