#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> IntsOf(const Tensor& tensor) {
  return {tensor.values<int64_t>().begin(), tensor.values<int64_t>().end()};
}

TEST(ImportCounted, NonZeroIsCutToWhatTheRunFinds) {
  ModelBuilder model(13);
  model.Input("x", {2, 2}).Output("y", onnx::TensorProto::INT64);
  model.Node("NonZero", {"x"}, {"y"});
  const Tensor two = model.Run({Tensor::OfFloats({2, 2}, {0, 3, 0, 4})}).at(0);
  EXPECT_EQ(two.shape(), Shape({2, 2}));
  EXPECT_THAT(IntsOf(two), ElementsAre(0, 1, 1, 1));
  const Tensor none = model.Run({Tensor::OfFloats({2, 2}, {0, 0, 0, 0})}).at(0);
  EXPECT_EQ(none.shape(), Shape({2, 0}));
}

// Indices -> rows of another tensor -> arithmetic: all of it has the number of rows that was found.
TEST(ImportCounted, RowwiseOperatorsKeepTheCount) {
  ModelBuilder model(13);
  model.Input("x", {3}).Input("table", {3, 2}).Output("y");
  model.Ints("zero", {0});
  model.Node("NonZero", {"x"}, {"places"});
  model.Node("Squeeze", {"places", "zero"}, {"rows"});
  model.Node("Gather", {"table", "rows"}, {"chosen"}).Int("axis", 0);
  model.Node("Neg", {"chosen"}, {"y"});
  const Tensor y =
      model.Run({Tensor::OfFloats({3}, {1, 0, 1}), Tensor::OfFloats({3, 2}, {1, 2, 3, 4, 5, 6})})
          .at(0);
  EXPECT_EQ(y.shape(), Shape({2, 2}));
  EXPECT_THAT(FloatsOf(y), ElementsAre(-1, -2, -5, -6));
}

TEST(ImportCounted, WhatMixesTheRowsIsRefused) {
  ModelBuilder model(13);
  model.Input("x", {3}).Output("y", onnx::TensorProto::INT64);
  model.Node("NonZero", {"x"}, {"places"});
  model.Node("ReduceSum", {"places"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("value 'places' has a size that only the run knows"));
  ModelBuilder shape(13);
  shape.Input("x", {3}).Output("y", onnx::TensorProto::INT64);
  shape.Node("NonZero", {"x"}, {"places"});
  shape.Node("Shape", {"places"}, {"y"});
  EXPECT_THAT(shape.Text(), HasSubstr("it cannot be asked for"));
}

TEST(ImportCounted, OfConstantsIsAConstant) {
  ModelBuilder model(13);
  model.Input("x", {2}).Output("y");
  model.Floats("mask", {4}, {0, 1, 0, 1});
  model.Ints("zero", {0});
  model.Node("NonZero", {"mask"}, {"places"});
  model.Node("Shape", {"places"}, {"shape"});
  model.Node("Expand", {"x", "shape"}, {"y"});
  EXPECT_THAT(FloatsOf(model.Run({Tensor::OfFloats({2}, {7, 8})}).at(0)), ElementsAre(7, 8));
}

TEST(ImportCounted, NonMaxSuppressionKeepsTheBestOfEachClass) {
  ModelBuilder model(13);
  model.Input("boxes", {1, 3, 4}).Input("scores", {1, 2, 3});
  model.Output("y", onnx::TensorProto::INT64);
  model.Ints("most", {2});
  model.Floats("iou", {1}, {0.5f});
  model.Floats("least", {1}, {0.2f});
  model.Node("NonMaxSuppression", {"boxes", "scores", "most", "iou", "least"}, {"y"});
  const Tensor y = model
                       .Run({Tensor::OfFloats({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9f, 5, 5, 6, 6}),
                             Tensor::OfFloats({1, 2, 3}, {0.5f, 0.9f, 0.3f, 0.1f, 0.1f, 0.1f})})
                       .at(0);
  EXPECT_EQ(y.shape(), Shape({2, 3}));
  EXPECT_THAT(IntsOf(y), ElementsAre(0, 0, 1, 0, 0, 2));
}

}  // namespace
}  // namespace qb::testing
