#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ModelBuilder ImageModel(int64_t opset = 13) {
  ModelBuilder model(opset);
  model.Input("x", {1, 2, 5, 5}).Output("y");
  model.Floats("w", {2, 2, 3, 3}, std::vector<float>(36, 1.0f));
  return model;
}

TEST(ImportConv, TakesWindowAndBias) {
  ModelBuilder model = ImageModel();
  model.Floats("b", {2}, {1, 2});
  model.Node("Conv", {"x", "w", "b"}, {"y"})
      .Ints("kernel_shape", {3, 3})
      .Ints("strides", {2, 1})
      .Ints("dilations", {1, 2})
      .Ints("pads", {0, 1, 2, 3});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("y = Convolution(x, w, b) {h_kernel=3, w_kernel=3, h_stride=2, "
                              "w_dilation=2, south_padding=2, west_padding=1, east_padding=3}"));
  EXPECT_THAT(text, HasSubstr("y = Output(y)"));
}

TEST(ImportConv, SamePaddingPutsTheOddElementWhereItSays) {
  for (const bool upper : {true, false}) {
    ModelBuilder model(13);
    model.Input("x", {1, 1, 4, 4}).Output("y");
    model.Floats("w", {1, 1, 2, 2}, {1, 1, 1, 1});
    model.Node("Conv", {"x", "w"}, {"y"}).String("auto_pad", upper ? "SAME_UPPER" : "SAME_LOWER");
    const std::string text = model.Text();
    EXPECT_THAT(text, HasSubstr(upper ? "south_padding=1, east_padding=1"
                                      : "north_padding=1, west_padding=1"));
    EXPECT_THAT(text, Not(HasSubstr(upper ? "north_padding" : "south_padding")));
  }
}

TEST(ImportConv, SamePaddingGivesCeilOfSizeByStride) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 7, 8}).Output("y");
  model.Floats("w", {1, 1, 3, 3}, std::vector<float>(9, 1.0f));
  model.Node("Conv", {"x", "w"}, {"y"}).String("auto_pad", "SAME_UPPER").Ints("strides", {2, 3});
  EXPECT_THAT(model.Text(), HasSubstr("float32[1x1x4x3]"));
}

TEST(ImportConv, OneDimensionalFormRunsAsImageOfHeightOne) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 5}).Output("y");
  model.Floats("w", {1, 1, 3}, {1, 2, 3});
  model.Node("Conv", {"x", "w"}, {"y"}).Ints("pads", {1, 0}).Ints("strides", {2});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 1, 5}, {1, 2, 3, 4, 5})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].shape(), Shape({1, 1, 2}));
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(1 * 2 + 2 * 3, 2 * 1 + 3 * 2 + 4 * 3));
}

TEST(ImportConv, ThreeDimensionalFormIsASumOverTheDepth) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 3, 1, 2}).Output("y");
  model.Floats("w", {1, 1, 2, 1, 1}, {1, 10});
  model.Floats("b", {1}, {0.5f});
  model.Node("Conv", {"x", "w", "b"}, {"y"}).Ints("pads", {0, 0, 0, 1, 0, 0});
  const std::vector<Tensor> outputs =
      model.Run({Tensor::OfFloats({1, 1, 3, 1, 2}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(outputs.at(0).shape(), Shape({1, 1, 3, 1, 2}));
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(31.5, 42.5, 53.5, 64.5, 5.5, 6.5));
}

TEST(ImportConv, WrongAttributesAreRefused) {
  const auto refused = [](auto change) {
    ModelBuilder model = ImageModel();
    NodeBuilder node = model.Node("Conv", {"x", "w"}, {"y"});
    change(node);
    return model.Text();
  };
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("kernel_shape", {5, 3});
              }),
              HasSubstr("ERROR: node 'y' (Conv): kernel_shape is [5, 3]"));
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("strides", {0, 1});
              }),
              HasSubstr("attribute 'strides' is [0, 1]"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.Ints("strides", {1}); }),
              HasSubstr("attribute 'strides' has 1 elements; 2 are accepted"));
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("dilations", {1, int64_t{1} << 62});
              }),
              HasSubstr("attribute 'dilations'"));
  EXPECT_THAT(refused([](NodeBuilder& n) {
                n.Ints("pads", {0, 0, 0, -1});
              }),
              HasSubstr("attribute 'pads'"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.String("auto_pad", "SOME"); }),
              HasSubstr("auto_pad is 'SOME'"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.Int("strides", 1); }),
              HasSubstr("attribute 'strides' has to be a list of integers"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.Int("group", 3); }), HasSubstr("ERROR: node 'y'"));
  EXPECT_THAT(refused([](NodeBuilder& n) { n.Int("winograd", 1); }),
              HasSubstr("attribute 'winograd' is not known for opset 13"));
}

TEST(ImportConv, WeightsThatAreComputedFromConstantsAreFolded) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 5, 5}).Output("y");
  model.Floats("w", {3, 3, 2, 2}, std::vector<float>(36, 1.0f));
  model.Node("Transpose", {"w"}, {"wt"}).Ints("perm", {3, 2, 0, 1});
  model.Node("Conv", {"x", "wt"}, {"y"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("wt = InputConstant float32[2x2x3x3]"));
  EXPECT_THAT(text, Not(HasSubstr("Transpose")));
}

}  // namespace
}  // namespace qb::testing
