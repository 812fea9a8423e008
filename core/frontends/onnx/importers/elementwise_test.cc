#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> RunOp(const std::string& op_type, const std::vector<std::string>& inputs) {
  ModelBuilder model(13);
  model.Input("x", {1, 2}).Output("y");
  model.Floats("a", {1}, {3}).Floats("b", {2}, {1, 5});
  model.Node(op_type, inputs, {"y"});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 2}, {2, 4})});
  return outputs.empty() ? std::vector<float>() : FloatsOf(outputs[0]);
}

TEST(ImportElementwise, TwoOperands) {
  EXPECT_THAT(RunOp("Add", {"x", "a"}), ElementsAre(5, 7));
  EXPECT_THAT(RunOp("Sub", {"a", "x"}), ElementsAre(1, -1));
  EXPECT_THAT(RunOp("Mul", {"x", "b"}), ElementsAre(2, 20));
  EXPECT_THAT(RunOp("Div", {"x", "b"}), ElementsAre(2, 0.8f));
  EXPECT_THAT(RunOp("Pow", {"x", "a"}), ElementsAre(8, 64));
}

TEST(ImportElementwise, AnyNumberOfOperands) {
  EXPECT_THAT(RunOp("Max", {"x", "a", "b"}), ElementsAre(3, 5));
  EXPECT_THAT(RunOp("Min", {"x", "a", "b"}), ElementsAre(1, 3));
  EXPECT_THAT(RunOp("Sum", {"x", "a", "b"}), ElementsAre(6, 12));
  EXPECT_THAT(RunOp("Mean", {"x", "a", "b"}), ElementsAre(2, 4));
  EXPECT_THAT(RunOp("Max", {"x"}), ElementsAre(2, 4));
}

TEST(ImportElementwise, MismatchNamesNodeAndShapes) {
  ModelBuilder model(13);
  model.Input("x", {1, 2}).Output("y");
  model.Floats("c", {3}, {1, 2, 3});
  model.Node("Add", {"x", "c"}, {"y"}).Named("sum");
  EXPECT_THAT(model.Text(), HasSubstr("ERROR: node 'sum' (Add): "));
  EXPECT_THAT(model.Text(), HasSubstr("1x2 and 3 cannot be broadcast"));
}

TEST(ImportPow, ExponentTakesTheTypeOfTheBase) {
  ModelBuilder model(13);
  model.Input("x", {1, 2}).Output("y");
  model.Ints("two", {2});
  model.Node("Pow", {"x", "two"}, {"y"});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 2}, {2, 4})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(4, 16));
}

}  // namespace
}  // namespace qb::testing
