#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Resize of x [1, 1, 4, 4] with inputs (roi, scales, sizes) and whatever `change` adds.
std::string ResizeText(int64_t opset, const std::vector<float>& scales,
                       const std::vector<int64_t>& sizes,
                       const std::function<void(NodeBuilder&)>& change = nullptr) {
  ModelBuilder model(opset);
  model.Input("x", {1, 1, 4, 4}).Output("y");
  model.Floats("roi", {0}, {});
  model.Floats("scales", {static_cast<int64_t>(scales.size())}, scales).Ints("sizes", sizes);
  NodeBuilder node = model.Node(
      "Resize", {"x", "roi", scales.empty() ? "" : "scales", sizes.empty() ? "" : "sizes"}, {"y"});
  if (change) {
    change(node);
  }
  return model.Text();
}

TEST(ImportResize, ScalesOrSizes) {
  EXPECT_THAT(ResizeText(13, {1, 1, 2, 1.3f}, {}), HasSubstr("sizes=[1, 1, 8, 5]"));
  EXPECT_THAT(ResizeText(13, {}, {1, 1, 8, 6}), HasSubstr("scales=[1.0, 1.0, 2.0, 1.5]"));
  EXPECT_THAT(ResizeText(13, {1, 1, 2, 2}, {1, 1, 8, 8}), HasSubstr("exactly one of"));
  EXPECT_THAT(ResizeText(13, {}, {}), HasSubstr("exactly one of"));
  EXPECT_THAT(ResizeText(13, {1, 2, 2}, {}), HasSubstr("scales has 3 elements for 4 axes"));
  EXPECT_THAT(ResizeText(13, {1, 1, -2, 2}, {}), HasSubstr("ERROR: node 'y' (Resize): scales"));
  EXPECT_THAT(ResizeText(13, {1, 1, 1e30f, 2}, {}), HasSubstr("ERROR: node 'y' (Resize): scales"));
}

TEST(ImportResize, ModesPassThrough) {
  const std::string text = ResizeText(13, {1, 1, 2, 2}, {}, [](NodeBuilder& node) {
    node.String("mode", "cubic")
        .String("coordinate_transformation_mode", "align_corners")
        .Float("cubic_coeff_a", -0.5f);
  });
  EXPECT_THAT(text, HasSubstr("mode=\"cubic\", transform_mode=\"align_corners\""));
  EXPECT_THAT(text, HasSubstr("cubic_coeff_a=-0.5"));
  EXPECT_THAT(ResizeText(13, {1, 1, 2, 2}, {},
                         [](NodeBuilder& node) { node.String("nearest_mode", "ceil"); }),
              HasSubstr("nearest_mode=\"ceil\""));
}

TEST(ImportResize, AxesAndAspectRatioOfOpset18) {
  EXPECT_THAT(ResizeText(18, {}, {8, 6},
                         [](NodeBuilder& node) {
                           node.Ints("axes", {2, 3});
                         }),
              HasSubstr("sizes=[1, 1, 8, 6]"));
  EXPECT_THAT(
      ResizeText(18, {}, {8, 6},
                 [](NodeBuilder& node) {
                   node.Ints("axes", {2, 3}).String("keep_aspect_ratio_policy", "not_larger");
                 }),
      HasSubstr("sizes=[1, 1, 6, 6]"));
  EXPECT_THAT(
      ResizeText(18, {}, {8, 6},
                 [](NodeBuilder& node) {
                   node.Ints("axes", {2, 3}).String("keep_aspect_ratio_policy", "not_smaller");
                 }),
      HasSubstr("sizes=[1, 1, 8, 8]"));
}

TEST(ImportResize, AspectRatioCannotGiveHugeSizes) {
  ModelBuilder model(18);
  model.Input("x", {1, int64_t{1} << 38}).Output("y");
  model.Ints("sizes", {int64_t{1} << 39, 1});
  model.Node("Resize", {"x", "", "", "sizes"}, {"y"})
      .String("keep_aspect_ratio_policy", "not_smaller");
  EXPECT_THAT(model.Text(), HasSubstr("give an axis of"));
}

TEST(ImportResize, WhatIsMissingIsRefusedByName) {
  const auto transform = [](const std::string& mode, const std::string& nearest) {
    return ResizeText(13, {1, 1, 2, 2}, {}, [&](NodeBuilder& node) {
      node.String("coordinate_transformation_mode", mode).String("nearest_mode", nearest);
    });
  };
  EXPECT_THAT(transform("tf_crop_and_resize", "floor"), HasSubstr("roi has 0 elements for 4 axes"));
  EXPECT_THAT(transform("tf_half_pixel_for_nn", "ceil"), HasSubstr("\"tf_half_pixel_for_nn\""));
  EXPECT_THAT(transform("tf_half_pixel_for_nn", "floor"),
              HasSubstr("nearest_mode=\"round_prefer_ceil\""));
}

TEST(ImportResize, FiltersKeepTheirFlagsWhereTheyCount) {
  const auto antialias = [](const std::string& mode, int64_t size) {
    return ResizeText(18, {}, {1, 1, size, size},
                      [&](NodeBuilder& node) { node.String("mode", mode).Int("antialias", 1); });
  };
  EXPECT_THAT(antialias("linear", 2), HasSubstr("antialias=true"));
  EXPECT_THAT(antialias("linear", 8), Not(HasSubstr("antialias")));
  EXPECT_THAT(antialias("nearest", 2), Not(HasSubstr("antialias")));
  EXPECT_THAT(
      ResizeText(13, {}, {1, 1, 8, 8},
                 [](NodeBuilder& node) { node.String("mode", "cubic").Int("exclude_outside", 1); }),
      HasSubstr("exclude_outside=true"));
}

TEST(ImportResize, ScalesOfARegionAreOfThatRegion) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 1, 8}).Output("y");
  model.Floats("roi", {8}, {0, 0, 0, 0.25f, 1, 1, 1, 0.75f});
  model.Floats("scales", {4}, {1, 1, 1, 0.5f});
  model.Node("Resize", {"x", "roi", "scales"}, {"y"})
      .String("mode", "linear")
      .String("coordinate_transformation_mode", "tf_crop_and_resize");
  const Tensor y = model.Run({Tensor::OfFloats({1, 1, 1, 8}, {0, 1, 2, 3, 4, 5, 6, 7})}).at(0);
  EXPECT_THAT(FloatsOf(y), ElementsAre(1.75, 5.25));
}

TEST(ImportUpsample, AttributeAndInputForms) {
  for (const int64_t opset : {7, 9}) {
    ModelBuilder model(opset);
    model.Input("x", {1, 1, 1, 2}).Output("y");
    model.Floats("scales", {4}, {1, 1, 1, 2});
    if (opset == 7) {
      model.Node("Upsample", {"x"}, {"y"}).Floats("scales", {1, 1, 1, 2});
    } else {
      model.Node("Upsample", {"x", "scales"}, {"y"});
    }
    const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 1, 1, 2}, {3, 5})});
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(3, 3, 5, 5));
  }
  ModelBuilder gone(10);
  gone.Input("x", {1, 1, 1, 2}).Output("y");
  gone.Floats("scales", {4}, {1, 1, 1, 2});
  gone.Node("Upsample", {"x", "scales"}, {"y"});
  EXPECT_THAT(gone.Text(), HasSubstr("operators that are not supported (opset 10): Upsample"));
}

TEST(ImportResize, EarlyFormShrinksUpwards) {
  ModelBuilder model(10);
  model.Input("x", {1, 1, 1, 4}).Output("y");
  model.Floats("scales", {4}, {1, 1, 1, 0.6f});
  model.Node("Resize", {"x", "scales"}, {"y"});
  // Result position 1 is at 1 / 0.6 = 1.67, rounded up.
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 1, 1, 4}, {0, 1, 2, 3})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(0, 2));
}

}  // namespace
}  // namespace qb::testing
