#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string PoolText(const std::string& op_type, int64_t opset,
                     const std::vector<std::string>& outputs,
                     const std::vector<int64_t>& input = {1, 1, 6, 6}) {
  ModelBuilder model(opset);
  model.Input("x", input);
  model.Node(op_type, {"x"}, outputs)
      .Ints("kernel_shape", std::vector<int64_t>(input.size() - 2, 3))
      .Int("ceil_mode", 1);
  for (const std::string& output : outputs) {
    model.Output(output);
  }
  return model.Text();
}

TEST(ImportPool, KindsAndModes) {
  EXPECT_THAT(PoolText("MaxPool", 10, {"y"}),
              HasSubstr("y = Pooling(x) {h_kernel=3, w_kernel=3, is_ceil_mode=true}"));
  EXPECT_THAT(PoolText("AveragePool", 10, {"y"}), HasSubstr("pool_type=\"average\""));
  const std::string line = PoolText("AveragePool", 10, {"y"}, {1, 1, 6});
  EXPECT_THAT(line, HasSubstr("w_kernel=3"));
  EXPECT_THAT(line, HasSubstr("float32[1x1x4]"));
}

TEST(ImportPool, CountIncludePadChangesTheMean) {
  for (const int64_t include : {0, 1}) {
    ModelBuilder model(11);
    model.Input("x", {1, 1, 2, 2}).Output("y");
    model.Node("AveragePool", {"x"}, {"y"})
        .Ints("kernel_shape", {2, 2})
        .Ints("strides", {2, 2})
        .Ints("pads", {1, 1, 1, 1})
        .Int("count_include_pad", include);
    const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 1, 2, 2}, {4, 8, 12, 16})});
    ASSERT_EQ(outputs.size(), 1u);
    if (include == 1) {
      EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(1, 2, 3, 4));
    } else {
      EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(4, 8, 12, 16));
    }
  }
}

TEST(ImportPool, IndicesOfTheLargestElements) {
  for (const int64_t by_columns : {0, 1}) {
    ModelBuilder model(13);
    model.Input("x", {1, 1, 2, 3}).Output("y").Output("places", onnx::TensorProto::INT64);
    model.Node("MaxPool", {"x"}, {"y", "places"})
        .Ints("kernel_shape", {2, 2})
        .Int("storage_order", by_columns);
    const std::vector<Tensor> outputs =
        model.Run({Tensor::OfFloats({1, 1, 2, 3}, {1, 5, 2, 3, 4, 6})});
    EXPECT_THAT(FloatsOf(outputs.at(0)), ElementsAre(5, 6));
    EXPECT_THAT(outputs.at(1).values<int64_t>(),
                by_columns == 1 ? ElementsAre(2, 5) : ElementsAre(1, 5));
  }
}

TEST(ImportPool, ThreeDimensionalFormGoesByPixelsThenDepth) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 2, 1, 2}).Output("y");
  model.Node("AveragePool", {"x"}, {"y"})
      .Ints("kernel_shape", {2, 1, 2})
      .Ints("pads", {1, 0, 0, 0, 0, 0});
  const std::vector<Tensor> outputs = model.Run({Tensor::OfFloats({1, 1, 2, 1, 2}, {1, 3, 5, 7})});
  EXPECT_EQ(outputs.at(0).shape(), Shape({1, 1, 2, 1, 1}));
  EXPECT_THAT(FloatsOf(outputs[0]), ElementsAre(2, 4));
}

TEST(ImportPool, KernelShapeIsNeeded) {
  ModelBuilder model(13);
  model.Input("x", {1, 1, 6, 6}).Output("y");
  model.Node("MaxPool", {"x"}, {"y"});
  EXPECT_THAT(model.Text(), HasSubstr("the kernel has 0 dimensions, the input has 2"));
}

TEST(ImportPool, GlobalFormsOfAnyRank) {
  const auto text = [](const std::string& op_type, const std::vector<int64_t>& dims) {
    ModelBuilder model(13);
    model.Input("x", dims).Output("y");
    model.Node(op_type, {"x"}, {"y"});
    return model.Text();
  };
  EXPECT_THAT(text("GlobalAveragePool", {1, 2, 4, 4}), HasSubstr("y = GlobalAveragePooling(x)"));
  EXPECT_THAT(text("GlobalAveragePool", {1, 2, 4}), HasSubstr("y = ReduceMean(x)"));
  EXPECT_THAT(text("GlobalMaxPool", {1, 2, 4, 4}), HasSubstr("reduce_axes=[2, 3]"));
  EXPECT_THAT(text("GlobalMaxPool", {1, 2}), HasSubstr("ERROR: node 'y' (GlobalMaxPool)"));
}

}  // namespace
}  // namespace qb::testing
