#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

std::string SoftmaxText(int64_t opset, const std::vector<int64_t>& dims, int64_t axis) {
  ModelBuilder model(opset);
  model.Input("x", dims).Output("y");
  model.Node("Softmax", {"x"}, {"y"}).Int("axis", axis);
  return model.Text();
}

TEST(ImportSoftmax, EarlyFormNormalizesAllDimensionsFromTheAxisOn) {
  const std::string text = SoftmaxText(11, {1, 3, 4}, 1);
  EXPECT_THAT(text, HasSubstr("new_shape=[1, 12]"));
  EXPECT_THAT(text, HasSubstr("axis=1"));
  EXPECT_THAT(text, HasSubstr("new_shape=[1, 3, 4]"));
}

TEST(ImportSoftmax, EarlyFormWithoutWiderDimensionsNeedsNoReshape) {
  for (const int64_t axis : {2, -1}) {
    EXPECT_THAT(SoftmaxText(11, {1, 3, 4}, axis), Not(HasSubstr("Reshape")));
  }
  EXPECT_THAT(SoftmaxText(7, {1, 10, 1, 1}, 1), Not(HasSubstr("Reshape")));
}

TEST(ImportSoftmax, NewFormKeepsTheAxis) {
  const std::string text = SoftmaxText(13, {1, 3, 4}, 1);
  EXPECT_THAT(text, HasSubstr("y = Softmax(x) {axis=1}"));
  EXPECT_THAT(SoftmaxText(13, {1, 3}, 2), HasSubstr("ERROR: node 'y' (Softmax): axis 2"));
}

TEST(ImportSoftmax, DefaultAxisDependsOnOpset) {
  for (const int64_t opset : {12, 13}) {
    ModelBuilder model(opset);
    model.Input("x", {2, 3, 4});
    model.Output("y");
    model.Node("Softmax", {"x"}, {"y"});
    EXPECT_THAT(model.Text(),
                HasSubstr(opset == 12 ? "new_shape=[2, 12]" : "y = Softmax(x) {axis=2}"));
  }
}

TEST(ImportLogSoftmax, KeepsSmallProbabilities) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y");
  model.Node("LogSoftmax", {"x"}, {"y"});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 3}, {0, 200, 200})});
  ASSERT_EQ(outputs.size(), 1u);
  const auto half = static_cast<float>(std::log(0.5));
  EXPECT_THAT(FloatsOf(outputs[0]),
              Pointwise(FloatNear(1e-4f), std::vector<float>{half - 200, half, half}));
}

ModelBuilder BatchNormModel(int64_t opset, const std::vector<std::string>& outputs) {
  ModelBuilder model(opset);
  model.Input("x", {1, 2, 3, 3}).Output("y");
  for (const char* name : {"scale", "b", "mean", "var"}) {
    model.Floats(name, {2}, {1, 2});
  }
  model.Node("BatchNormalization", {"x", "scale", "b", "mean", "var"}, outputs)
      .Float("momentum", 0.9f)
      .Float("epsilon", 0.5f);
  return model;
}

TEST(ImportBatchNormalization, InferenceForm) {
  EXPECT_THAT(BatchNormModel(9, {"y"}).Text(),
              HasSubstr("y = Batchnorm(x, scale, b, mean, var) {epsilon=0.5"));
}

TEST(ImportBatchNormalization, TrainingFormsAreRefused) {
  EXPECT_THAT(BatchNormModel(9, {"y", "m", "v"}).Text(), HasSubstr("the training form"));
  ModelBuilder model = BatchNormModel(14, {"y"});
  NodeBuilder(model.graph().mutable_node(0)).Int("training_mode", 1);
  EXPECT_THAT(model.Text(), HasSubstr("the training form"));
}

TEST(ImportBatchNormalization, ParametersHaveToFit) {
  ModelBuilder model = BatchNormModel(9, {"y"});
  model.graph().mutable_node(0)->mutable_input()->RemoveLast();
  EXPECT_THAT(model.Text(), HasSubstr("input 4 (a parameter) is missing"));
}

}  // namespace
}  // namespace qb::testing
