#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ImportClip, AttributeFormUntilOpset10) {
  ModelBuilder model(10);
  model.Input("x", {1, 4}).Output("y");
  model.Node("Clip", {"x"}, {"y"}).Float("min", 0.0f).Float("max", 6.0f);
  EXPECT_THAT(model.Text(), HasSubstr("y = Clip(x) {clip_min_value=0.0, clip_max_value=6.0}"));
  ModelBuilder newer(11);
  newer.Input("x", {1, 4}).Output("y");
  newer.Node("Clip", {"x"}, {"y"}).Float("min", 0.0f);
  EXPECT_THAT(newer.Text(), HasSubstr("attribute 'min' is not known for opset 11"));
}

TEST(ImportClip, InputFormWithMissingBounds) {
  const auto run = [](const std::vector<std::string>& inputs) {
    ModelBuilder model(13);
    model.Input("x", {1, 4}).Output("y");
    model.Floats("zero", {}, {0}).Floats("six", {}, {6});
    model.Node("Clip", inputs, {"y"});
    const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 4}, {-1e30f, -1, 3, 9})});
    return outputs.empty() ? std::vector<float>() : FloatsOf(outputs[0]);
  };
  EXPECT_THAT(run({"x", "zero", "six"}), ElementsAre(0, 0, 3, 6));
  EXPECT_THAT(run({"x", "", "six"}), ElementsAre(-1e30f, -1, 3, 6));
  EXPECT_THAT(run({"x", "zero"}), ElementsAre(0, 0, 3, 9));
  EXPECT_THAT(run({"x"}), ElementsAre(-1e30f, -1, 3, 9));
}

TEST(ImportClip, ComputedBoundsBecomeMaximumAndMinimum) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Input("lo", {}).Output("y");
  model.Floats("six", {}, {6});
  model.Node("Clip", {"x", "lo", "six"}, {"y"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("Maximum(x, lo)"));
  EXPECT_THAT(text, HasSubstr("y = Minimum("));
}

TEST(ImportClip, BoundsOfManyElementsAreRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Floats("lo", {2}, {0, 1});
  model.Node("Clip", {"x", "lo"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("a bound has 2 elements"));
}

TEST(ImportPointwise, AttributesAndDefaults) {
  const auto text = [](const std::string& op_type, const char* attribute) {
    ModelBuilder model(14);
    model.Input("x", {1, 4}).Output("y");
    NodeBuilder node = model.Node(op_type, {"x"}, {"y"});
    if (attribute != nullptr) {
      node.Float(attribute, 0.25f);
    }
    return model.Text();
  };
  EXPECT_THAT(text("Relu", nullptr), HasSubstr("y = Relu(x)"));
  EXPECT_THAT(text("HardSwish", nullptr), HasSubstr("y = HardSwish(x)"));
  EXPECT_THAT(text("LeakyRelu", "alpha"), HasSubstr("y = LeakyRelu(x) {leaky_alpha=0.25}"));
  EXPECT_THAT(text("Elu", "alpha"), HasSubstr("y = Elu(x) {leaky_alpha=0.25}"));
  EXPECT_THAT(text("HardSigmoid", "beta"), HasSubstr("y = HardSigmoid(x) {beta=0.25}"));
  EXPECT_THAT(text("Softplus", nullptr), HasSubstr("y = Softplus(x)"));
  EXPECT_THAT(text("Relu", "alpha"), HasSubstr("attribute 'alpha' is not known"));
}

TEST(ImportPRelu, OneSlopeIsLeakyRelu) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 1, 2}).Output("y");
  model.Floats("s", {2, 1, 1}, {0.5f, 0.5f});
  model.Node("PRelu", {"x", "s"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("y = LeakyRelu(x) {leaky_alpha=0.5}"));
}

TEST(ImportPRelu, SlopesStayOneOperator) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 1, 2}).Output("y");
  model.Floats("s", {2, 1, 1}, {0.5f, 0.25f});
  model.Node("PRelu", {"x", "s"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("y = PRelu(x, s)"));
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 2, 1, 2}, {-4, 4, -4, 4})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(-2, 4, -1, 4));
}

TEST(ImportCast, TargetTypes) {
  const auto text = [](int64_t to) {
    ModelBuilder model(13);
    model.Input("x", {1, 4}).Output("y", onnx::TensorProto::UNDEFINED);
    model.Node("Cast", {"x"}, {"y"}).Int("to", to);
    return model.Text();
  };
  EXPECT_THAT(text(onnx::TensorProto::INT64), HasSubstr("y = Cast(x) {dtype=\"int64\"}"));
  EXPECT_THAT(text(onnx::TensorProto::FLOAT), Not(HasSubstr("Cast")));
  EXPECT_THAT(text(onnx::TensorProto::STRING), HasSubstr("a cast to STRING is not supported"));
  EXPECT_THAT(text(17), HasSubstr("a cast to FLOAT8E4M3FN is not supported"));
  EXPECT_THAT(text(int64_t{1} << 40), HasSubstr("a cast to type 1099511627776"));
}

TEST(ImportDropout, IsLeftOutAndItsMaskIsOnes) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y").Output("mask", onnx::TensorProto::BOOL);
  model.Floats("ratio", {}, {0.5f});
  model.Node("Dropout", {"x", "ratio"}, {"y", "mask"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("y = Output(x)"));
  EXPECT_THAT(text, HasSubstr("bool[1x3]"));
}

TEST(ImportDropout, TrainingIsRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y");
  model.Floats("ratio", {}, {0.5f});
  model.Initializer("t", onnx::TensorProto::BOOL, {}).add_int32_data(1);
  model.Node("Dropout", {"x", "ratio", "t"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("training_mode is not supported"));
}

TEST(ImportIdentity, OutputsMayBeInputsAndConstants) {
  ModelBuilder model(13);
  model.Input("x", {1, 3}).Output("y").Output("x").Output("w");
  model.Floats("w", {2}, {1, 2});
  model.Node("Identity", {"x"}, {"y"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("y = Output(x)"));
  EXPECT_THAT(text, HasSubstr("x = Output(x)"));
  EXPECT_THAT(text, HasSubstr("w = Output(w)"));
}

}  // namespace
}  // namespace qb::testing
