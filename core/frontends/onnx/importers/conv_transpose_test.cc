#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelBuilder ImageModel() {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 5, 5}).Output("y");
  model.Floats("w", {2, 3, 3, 3}, std::vector<float>(54, 1.0f));
  return model;
}

TEST(ImportConvTranspose, TakesWindowOutputPaddingAndBias) {
  ModelBuilder model = ImageModel();
  model.Floats("b", {3}, {1, 2, 3});
  model.Node("ConvTranspose", {"x", "w", "b"}, {"y"})
      .Ints("kernel_shape", {3, 3})
      .Ints("strides", {2, 3})
      .Ints("pads", {0, 1, 2, 1})
      .Ints("output_padding", {1, 2});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("{h_kernel=3, w_kernel=3, h_stride=2, w_stride=3, south_padding=2, "
                              "west_padding=1, east_padding=1, south_out_padding=1, "
                              "east_out_padding=2}"));
  EXPECT_THAT(text, HasSubstr("float32[1x3x10x15]"));
}

TEST(ImportConvTranspose, OutputShapeDecidesThePadding) {
  for (const bool upper : {true, false}) {
    ModelBuilder model = ImageModel();
    // The full result has 11 rows and columns: 1 too many, and 2 too few.
    NodeBuilder node = model.Node("ConvTranspose", {"x", "w"}, {"y"});
    node.Ints("strides", {2, 2}).Ints("output_shape", {10, 13});
    if (upper) {
      node.String("auto_pad", "SAME_UPPER");
    }
    const std::string text = model.Text();
    EXPECT_THAT(text, HasSubstr("float32[1x3x10x13]"));
    EXPECT_THAT(text, HasSubstr(upper ? "south_padding=1" : "north_padding=1"));
    EXPECT_THAT(text, HasSubstr("east_out_padding=2"));
  }
}

TEST(ImportConvTranspose, SamePaddingGivesSizeTimesStride) {
  ModelBuilder model = ImageModel();
  model.Node("ConvTranspose", {"x", "w"}, {"y"})
      .String("auto_pad", "SAME_LOWER")
      .Ints("strides", {2, 4});
  EXPECT_THAT(model.Text(), HasSubstr("float32[1x3x10x20]"));
}

TEST(ImportConvTranspose, OneDimensionalGroupsRun) {
  ModelBuilder model(11);
  model.Input("x", {1, 2, 2}).Output("y");
  model.Floats("w", {2, 1, 2}, {1, 2, 3, 4});
  model.Node("ConvTranspose", {"x", "w"}, {"y"}).Int("group", 2).Ints("strides", {2});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 2, 2}, {1, 2, 10, 20})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape(), Shape({1, 2, 4}));
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(1, 2, 2, 4, 30, 40, 60, 80));
}

TEST(ImportConvTranspose, WhatDoesNotFitIsRefused) {
  const auto refused = [](auto change) {
    ModelBuilder model = ImageModel();
    NodeBuilder node = model.Node("ConvTranspose", {"x", "w"}, {"y"});
    change(node);
    return model.Text();
  };
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("kernel_shape", {5, 3});
              }),
              HasSubstr("ERROR: node 'y' (ConvTranspose): kernel_shape is [5, 3]"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.Int("group", 3); }),
              HasSubstr("group is 3, which does not divide"));
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("output_padding", {1, -1});
              }),
              HasSubstr("attribute 'output_padding' is [1, -1]"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.Ints("output_shape", {1}); }),
              HasSubstr("attribute 'output_shape' is [1]"));
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("output_shape", {int64_t{1} << 60, 4});
              }),
              HasSubstr("attribute 'output_shape'"));
}

TEST(ImportConvTranspose, ThreeDimensionalFormIsASumOverTheDepth) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 2, 1, 1}).Output("y");
  model.Floats("w", {1, 1, 2, 1, 1}, {1, 10});
  model.Floats("b", {1}, {0.5f});
  model.Node("ConvTranspose", {"x", "w", "b"}, {"y"}).Ints("strides", {3, 1, 1});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 1, 2, 1, 1}, {2, 3})});
  EXPECT_EQ(outputs.at(0).shape(), Shape({1, 1, 5, 1, 1}));
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(2.5, 20.5, 0.5, 3.5, 30.5));
}

}  // namespace
}  // namespace qb::testing
