#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/testing/status_matchers.h"
#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

onnx::NodeProto* AddNode(onnx::GraphProto& graph, const std::string& op_type,
                         const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
  onnx::NodeProto* node = graph.add_node();
  node->set_op_type(op_type);
  for (const std::string& input : inputs) {
    node->add_input(input);
  }
  for (const std::string& output : outputs) {
    node->add_output(output);
  }
  return node;
}

onnx::GraphProto& AddBody(onnx::NodeProto& node, const std::string& name) {
  onnx::AttributeProto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name(name);
  return *attribute->mutable_g();
}

// y = condition ? x + x : -x, the condition a constant or an input.
ModelBuilder IfModel(bool constant, bool value) {
  ModelBuilder model(13);
  model.Input("x", {2}).Output("y");
  if (constant) {
    model.Initializer("c", onnx::TensorProto::BOOL, {}).add_int32_data(value ? 1 : 0);
  } else {
    model.Input("c", {1}, onnx::TensorProto::BOOL);
  }
  onnx::NodeProto& node = model.Node("If", {"c"}, {"y"}).proto();
  onnx::GraphProto& yes = AddBody(node, "then_branch");
  AddNode(yes, "Add", {"x", "x"}, {"sum"});
  yes.add_output()->set_name("sum");
  onnx::GraphProto& no = AddBody(node, "else_branch");
  AddNode(no, "Neg", {"x"}, {"negative"});
  no.add_output()->set_name("negative");
  return model;
}

TEST(ImportIf, TakesTheBranchThatIsKnown) {
  EXPECT_THAT(IfModel(true, true).Text(), HasSubstr("Adding(x, x)"));
  EXPECT_THAT(IfModel(true, true).Text(), Not(HasSubstr("Neg")));
  EXPECT_THAT(IfModel(true, false).Text(), HasSubstr("Neg(x)"));
}

TEST(ImportIf, ChoosesWhenTheConditionIsAnInput) {
  const ModelBuilder model = IfModel(false, false);
  const Tensor x = Tensor::OfFloats({2}, {1.0f, -3.0f});
  for (const uint8_t value : {0, 1}) {
    const Tensor condition = Tensor::Of<uint8_t>(DType::kBool, {1}, {value});
    const std::vector<float> expected =
        value != 0 ? std::vector<float>{2, -6} : std::vector<float>{-1, 3};
    EXPECT_EQ(FloatsOf(model.Run({x, condition}).at(0)), expected);
  }
}

// carried = carried + step for `steps` steps; the values of all steps as well.
ModelBuilder LoopModel(int64_t steps, bool constant) {
  ModelBuilder model(13);
  model.Input("x", {2}).Output("y").Output("all");
  if (constant) {
    model.Ints("count", {steps});
  } else {
    model.Input("count", {1}, onnx::TensorProto::INT64);
  }
  onnx::NodeProto& node = model.Node("Loop", {"count", "", "x"}, {"y", "all"}).proto();
  onnx::GraphProto& body = AddBody(node, "body");
  for (const char* name : {"step", "go", "value"}) {
    body.add_input()->set_name(name);
  }
  onnx::NodeProto* cast = AddNode(body, "Cast", {"step"}, {"number"});
  onnx::AttributeProto* to = cast->add_attribute();
  to->set_name("to");
  to->set_type(onnx::AttributeProto::INT);
  to->set_i(onnx::TensorProto::FLOAT);
  AddNode(body, "Add", {"value", "number"}, {"next"});
  AddNode(body, "Identity", {"go"}, {"go_on"});
  AddNode(body, "Mul", {"next", "x"}, {"seen"});
  for (const char* name : {"go_on", "next", "seen"}) {
    body.add_output()->set_name(name);
  }
  return model;
}

TEST(ImportLoop, WritesTheStepsOut) {
  const std::vector<Tensor> results =
      LoopModel(3, true).Run({Tensor::OfFloats({2}, {1.0f, 10.0f})});
  EXPECT_THAT(FloatsOf(results.at(0)), ElementsAre(4, 13));
  EXPECT_EQ(results.at(1).shape(), Shape({3, 2}));
  EXPECT_THAT(FloatsOf(results.at(1)), ElementsAre(1, 100, 2, 110, 4, 130));
}

TEST(ImportLoop, NeedsAFixedNumberOfSteps) {
  EXPECT_THAT(LoopModel(3, false).Text(), HasSubstr("'count' (M) depends on an input"));
  EXPECT_THAT(LoopModel(1 << 20, true).Text(), HasSubstr("more than 4096 steps"));
}

// A loop of loops would become 4000 * 4000 nodes.
TEST(ImportLoop, NestedLoopsHaveALimitInAll) {
  ModelBuilder model = LoopModel(4000, true);
  onnx::GraphProto& outer = *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  onnx::NodeProto inner = model.graph().node(0);
  inner.set_input(2, "value");
  inner.set_output(0, "inner_y");
  inner.set_output(1, "inner_all");
  *outer.add_node() = inner;
  outer.mutable_output(1)->set_name("inner_y");
  EXPECT_THAT(model.Text(), HasSubstr("become more than 65536 nodes"));
}

TEST(ImportBodies, WrongBodiesAreRefusedByName) {
  ModelBuilder dangling = IfModel(true, true);
  dangling.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_input(
      1, "nowhere");
  EXPECT_THAT(dangling.Text(), HasSubstr("input 'nowhere' is neither"));
  ModelBuilder cycle = IfModel(true, true);
  onnx::GraphProto& body = *cycle.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  body.mutable_node(0)->set_input(1, "back");
  AddNode(body, "Neg", {"sum"}, {"back"});
  EXPECT_THAT(cycle.Text(), HasSubstr("node 'sum' (Add) depends on its own result"));
  ModelBuilder twice = IfModel(true, true);
  onnx::GraphProto& doubled = *twice.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  AddNode(doubled, "Neg", {"x"}, {"sum"});
  EXPECT_THAT(twice.Text(), HasSubstr("value 'sum' is defined more than once"));
}

TEST(ImportBodies, DeepNestsAreRefusedWithTheLimit) {
  ModelBuilder model(13);
  model.Input("x", {1}, onnx::TensorProto::BOOL).Output("y", onnx::TensorProto::BOOL);
  onnx::GraphProto* graph = &model.graph();
  for (int level = 0; level < 30; ++level) {
    onnx::NodeProto* node = AddNode(*graph, "If", {"x"}, {"y"});
    onnx::GraphProto& no = AddBody(*node, "else_branch");
    AddNode(no, "Not", {"x"}, {"no"});
    no.add_output()->set_name("no");
    graph = &AddBody(*node, "then_branch");
    graph->add_output()->set_name("y");
  }
  AddNode(*graph, "Not", {"x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("subgraphs are nested deeper than 21 levels"));
}

}  // namespace
}  // namespace qb::testing
