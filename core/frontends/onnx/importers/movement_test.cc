#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::HasSubstr;

TEST(ImportTranspose, DefaultReversesTheAxes) {
  ModelBuilder model(13);
  model.Input("x", {1, 2, 3}).Output("y");
  model.Node("Transpose", {"x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("transpose_axes=[2, 1, 0]"));
}

TEST(ImportPad, EveryFormGivesTheSameNode) {
  ModelBuilder attribute(10);
  attribute.Input("x", {1, 4}).Output("y");
  attribute.Node("Pad", {"x"}, {"y"}).Ints("pads", {0, 1, 0, 2}).Float("value", 3.0f);
  ModelBuilder input(11);
  input.Input("x", {1, 4}).Output("y");
  input.Ints("pads", {0, 1, 0, 2}).Floats("value", {}, {3.0f});
  input.Node("Pad", {"x", "pads", "value"}, {"y"});
  ModelBuilder axes(18);
  axes.Input("x", {1, 4}).Output("y");
  axes.Ints("pads", {1, 2}).Floats("value", {}, {3.0f}).Ints("axes", {-1});
  axes.Node("Pad", {"x", "pads", "value", "axes"}, {"y"});
  for (const ModelBuilder* model : {&attribute, &input, &axes}) {
    EXPECT_THAT(model->Text(), HasSubstr("y = Pad(x) {padding_list=[0, 1, 0, 2], constant=3.0}"));
  }
}

TEST(ImportPad, Modes) {
  const auto text = [](const std::string& mode) {
    ModelBuilder model(13);
    model.Input("x", {1, 4}).Output("y");
    model.Ints("pads", {0, 1, 0, 2});
    model.Node("Pad", {"x", "pads"}, {"y"}).String("mode", mode);
    return model.Text();
  };
  EXPECT_THAT(text("reflect"), HasSubstr("pad_mode=\"reflect\""));
  EXPECT_THAT(text("edge"), HasSubstr("pad_mode=\"edge\""));
  EXPECT_THAT(text("wrap"), HasSubstr("mode 'wrap' is not supported"));  // since opset 19
  EXPECT_THAT(text("mirror"), HasSubstr("mode 'mirror' is not supported"));
}

TEST(ImportPad, WrapGoesAroundEachAxis) {
  ModelBuilder model(19);
  model.Input("x", {1, 3}).Output("y");
  model.Ints("pads", {0, 4, 0, 1});
  model.Node("Pad", {"x", "pads"}, {"y"}).String("mode", "wrap");
  EXPECT_THAT(FloatsOf(model.Run({Tensor::OfFloats({1, 3}, {1, 2, 3})}).at(0)),
              ::testing::ElementsAre(3, 1, 2, 3, 1, 2, 3, 1));
}

TEST(ImportPad, WrongListsAreRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Ints("pads", {0, 1});
  model.Node("Pad", {"x", "pads"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("padding_list has 2 entries"));
}

TEST(ImportGather, AxisFromTheEnd) {
  ModelBuilder model(13);
  model.Input("x", {1, 4}).Output("y");
  model.Ints("i", {3, 0});
  model.Node("Gather", {"x", "i"}, {"y"}).Int("axis", -1);
  EXPECT_THAT(model.Text(), HasSubstr("y = Gather(x, i) {axis=1}"));
}

TEST(ImportGather, IndexOutsideIsAnErrorWhenFolded) {
  ModelBuilder model(13);
  model.Floats("d", {2}, {1, 2}).Output("y");
  model.Ints("i", {5});
  model.Node("Gather", {"d", "i"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("ERROR: node 'y' (Gather)"));
}

TEST(ImportExpand, BroadcastsBothWays) {
  ModelBuilder model(13);
  model.Input("x", {1, 3, 1}).Output("y");
  model.Ints("shape", {2, 1, 4});
  model.Node("Expand", {"x", "shape"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("shape=[2, 3, 4]"));
}

TEST(ImportDepthSpace, Orders) {
  ModelBuilder model(13);
  model.Input("x", {1, 8, 2, 2}).Output("y").Output("z");
  model.Node("DepthToSpace", {"x"}, {"y"}).Int("blocksize", 2).String("mode", "CRD");
  model.Node("SpaceToDepth", {"x"}, {"z"}).Int("blocksize", 2);
  EXPECT_THAT(model.Text(), HasSubstr("y = DepthToSpace(x) {block_size=2, order=\"crd\"}"));
  EXPECT_THAT(model.Text(), HasSubstr("z = SpaceToDepth(x) {block_size=2}"));
  ModelBuilder early(10);
  early.Input("x", {1, 8, 2, 2}).Output("y");
  early.Node("DepthToSpace", {"x"}, {"y"}).Int("blocksize", 2).String("mode", "CRD");
  EXPECT_THAT(early.Text(), HasSubstr("attribute 'mode' is not known for opset 10"));
}

}  // namespace
}  // namespace qb::testing
