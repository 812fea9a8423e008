#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::HasSubstr;

std::string ReshapeText(const std::vector<int64_t>& input, const std::vector<int64_t>& dims) {
  ModelBuilder model(14);
  model.Input("x", input).Output("y");
  model.Ints("shape", dims);
  model.Node("Reshape", {"x", "shape"}, {"y"});
  return model.Text();
}

TEST(ImportReshape, ZeroCopiesAndMinusOneTakesTheRest) {
  EXPECT_THAT(ReshapeText({1, 6, 4}, {0, -1}), HasSubstr("new_shape=[1, 24]"));
  EXPECT_THAT(ReshapeText({1, 6, 4}, {0, 2, -1, 4}), HasSubstr("new_shape=[1, 2, 3, 4]"));
}

TEST(ImportReshape, AllowZeroTakesZeroAsItIs) {
  ModelBuilder model(14);
  model.Input("x", {1, -1}).Output("y");
  model.Ints("shape", {3, 0});
  model.Node("Reshape", {"x", "shape"}, {"y"}).Int("allowzero", 1);
  ImportOptions options;
  options.input_shapes["x"] = {1, 0};
  EXPECT_THAT(model.Text(options), HasSubstr("new_shape=[3, 0]"));
}

TEST(ImportReshape, ImpossibleShapesAreRefused) {
  EXPECT_THAT(ReshapeText({1, 6}, {4}), HasSubstr("ERROR: node 'y' (Reshape)"));
  EXPECT_THAT(ReshapeText({1, 6}, {-1, 4}), HasSubstr("is not possible"));
  EXPECT_THAT(ReshapeText({1, 6}, {-1, -1}), HasSubstr("is not possible"));
  EXPECT_THAT(ReshapeText({1, 6}, {-2, 3}), HasSubstr("is not possible"));
  EXPECT_THAT(ReshapeText({1, 6}, {1, 6, 0}), HasSubstr("copies a dimension"));
  EXPECT_THAT(ReshapeText({1, 6}, {int64_t{1} << 40, int64_t{1} << 40}),
              HasSubstr("is not possible"));
  EXPECT_THAT(ReshapeText({1, 6}, std::vector<int64_t>(40, 1)), HasSubstr("too many dimensions"));
}

TEST(ImportReshape, ComputedShapeIsRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, 6}).Input("s", {2}, onnx::TensorProto::INT64).Output("y");
  model.Node("Reshape", {"x", "s"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("input 's' (shape) depends on an input of the model"));
}

TEST(ImportFlatten, EveryAxis) {
  const auto text = [](int64_t axis) {
    ModelBuilder model(13);
    model.Input("x", {1, 2, 3}).Output("y");
    model.Node("Flatten", {"x"}, {"y"}).Int("axis", axis);
    return model.Text();
  };
  EXPECT_THAT(text(0), HasSubstr("new_shape=[1, 6]"));
  EXPECT_THAT(text(2), HasSubstr("new_shape=[2, 3]"));
  EXPECT_THAT(text(3), HasSubstr("new_shape=[6, 1]"));
  EXPECT_THAT(text(-1), HasSubstr("new_shape=[2, 3]"));
  EXPECT_THAT(text(4), HasSubstr("axis is 4"));
}

// Axes as attribute (until opset 12) or as input.
std::string AxesText(const std::string& op_type, bool as_input, const std::vector<int64_t>& axes) {
  ModelBuilder model(as_input ? 13 : 12);
  model.Input("x", {1, 2, 1, 3}).Output("y");
  model.Ints("axes", axes);
  if (as_input) {
    model.Node(op_type, {"x", "axes"}, {"y"});
  } else {
    model.Node(op_type, {"x"}, {"y"}).Ints("axes", axes);
  }
  return model.Text();
}

TEST(ImportSqueeze, BothForms) {
  for (const bool as_input : {false, true}) {
    EXPECT_THAT(AxesText("Squeeze", as_input, {-2}), HasSubstr("new_shape=[1, 2, 3]"));
    EXPECT_THAT(AxesText("Squeeze", as_input, {1}), HasSubstr("more than one element"));
    EXPECT_THAT(AxesText("Unsqueeze", as_input, {-1, 0}),
                HasSubstr("new_shape=[1, 1, 2, 1, 3, 1]"));
    EXPECT_THAT(AxesText("Unsqueeze", as_input, {0, 0}), HasSubstr("axis 0 is listed twice"));
  }
}

TEST(ImportSqueeze, WithoutAxesAllOnes) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 1, 3}).Output("y");
  model.Node("Squeeze", {"x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("new_shape=[2, 3]"));
}

}  // namespace
}  // namespace qb::testing
