#include "core/frontends/onnx/input_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "absl/strings/str_cat.h"

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::HasSubstr;

ModelBuilder OpenModel(const std::vector<std::string>& dims) {
  ModelBuilder model(13);
  model.OpenInput("x", dims).Output("y");
  model.Node("Relu", {"x"}, {"y"});
  return model;
}

ImportOptions Shapes(std::map<std::string, Shape> shapes) {
  ImportOptions options;
  options.input_shapes = std::move(shapes);
  return options;
}

TEST(InputTypes, OpenBatchIsOne) {
  EXPECT_THAT(OpenModel({"batch", "3"}).Text(), HasSubstr("x = Input float32[1x3]"));
  ModelBuilder unnamed(13);
  unnamed.Input("x", {-1, 3}).Output("y");
  unnamed.Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(unnamed.Text(), HasSubstr("x = Input float32[1x3]"));
}

TEST(InputTypes, OtherOpenDimensionsNeedTheFlag) {
  const ModelBuilder model = OpenModel({"batch", "3", "h", "w"});
  EXPECT_THAT(model.Text(), HasSubstr("input 'x' has the open shape batchx3xhxw; give its "
                                      "dimensions with --input-shape x:"));
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 3, 8, 6}}})), HasSubstr("x = Input float32[1x3x8x6]"));
}

TEST(InputTypes, GivenShapesHaveToFitTheDeclaredOnes) {
  const ModelBuilder model = OpenModel({"batch", "3", "h", "w"});
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 4, 8, 6}}})),
              HasSubstr("input 'x': --input-shape gives 1x4x8x6, the model declares batchx3xhxw"));
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 3, 8}}})), HasSubstr("--input-shape gives 1x3x8"));
  EXPECT_THAT(model.Text(Shapes({{"z", {1, 3, 8, 6}}})),
              HasSubstr("--input-shape names 'z', the model's inputs are 'x'"));
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 3, int64_t{1} << 30, int64_t{1} << 30}}})),
              HasSubstr("more than 2^40 elements"));
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 3, -8, 6}}})), HasSubstr("negative"));
}

TEST(InputTypes, DimensionsOfOneNameAreOneDimension) {
  ModelBuilder model(13);
  model.OpenInput("x", {"batch", "t"}).OpenInput("state", {"2", "batch", "t"}).Output("y");
  model.Node("Add", {"x", "state"}, {"y"});
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 7}}})), HasSubstr("state = Input float32[2x1x7]"));
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 7}}, {"state", {2, 1, 8}}})),
              HasSubstr("dimension 't' would be"));
}

TEST(InputTypes, FixedBatchAboveOneIsRefused) {
  ModelBuilder model(13);
  model.Input("x", {4, 3, 2, 2}).Output("y");
  model.Node("Relu", {"x"}, {"y"});
  EXPECT_THAT(model.Text(ImportOptions()),
              HasSubstr("input 'x' has shape 4x3x2x2, a fixed batch of 4"));
  EXPECT_THAT(model.Text(ModelBuilder::AnyBatch()), HasSubstr("float32[4x3x2x2]"));
  EXPECT_THAT(OpenModel({"batch", "3"}).Text(Shapes({{"x", {2, 3}}})),
              HasSubstr("a fixed batch of 2"));
}

TEST(InputTypes, ShapesAndTypesThatAreNotDeclared) {
  ModelBuilder model = OpenModel({"1", "3"});
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_THAT(model.Text(), HasSubstr("input 'x' has no declared shape"));
  EXPECT_THAT(model.Text(Shapes({{"x", {1, 5}}})), HasSubstr("x = Input float32[1x5]"));
  model.graph().mutable_input(0)->clear_type();
  EXPECT_THAT(model.Text(), HasSubstr("input 'x' has no type"));
  ModelBuilder text(13);
  text.Input("x", {1}, onnx::TensorProto::STRING).Output("x");
  EXPECT_THAT(text.Text(), HasSubstr("input 'x' has STRING"));
  ModelBuilder sequence = OpenModel({"1", "3"});
  sequence.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  EXPECT_THAT(sequence.Text(), HasSubstr("a value that is no tensor"));
}

TEST(InputTypes, HugeDeclaredShapesAreRefused) {
  ModelBuilder model(13);
  model.Input("x", {1, int64_t{1} << 40, int64_t{1} << 40}).Output("x");
  EXPECT_THAT(model.Text(), HasSubstr("input 'x': a tensor of"));
  for (const int64_t dim : {std::numeric_limits<int64_t>::max(), int64_t{1} << 62}) {
    ModelBuilder most(13);
    most.Input("x", {1, dim}).Output("x");
    EXPECT_THAT(most.Text(), HasSubstr("input 'x': a tensor of"));
  }
  for (const int64_t dim : {std::numeric_limits<int64_t>::min(), int64_t{-5}}) {
    ModelBuilder negative(13);
    negative.Input("x", {dim, 3}).Output("x");
    EXPECT_THAT(negative.Text(),
                HasSubstr(absl::StrCat("input 'x' has a dimension of ", dim, "; 1 and more")));
  }
  ModelBuilder deep(13);
  deep.Input("x", std::vector<int64_t>(100, 1)).Output("x");
  EXPECT_THAT(deep.Text(), HasSubstr("input 'x' has rank 100"));
}

}  // namespace
}  // namespace qb::testing
