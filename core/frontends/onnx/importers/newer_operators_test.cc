// Operators of opsets that Debian's test data of ONNX does not reach.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

// The values of one operator on one input.
std::vector<float> ValuesOf(const std::string& op_type, int64_t opset, const Tensor& x,
                            const std::vector<std::string>& further = {},
                            void (*change)(ModelBuilder&, NodeBuilder&) = nullptr) {
  ModelBuilder model(opset);
  model.Input("x", x.shape().dims()).Output("y");
  std::vector<std::string> inputs = {"x"};
  inputs.insert(inputs.end(), further.begin(), further.end());
  NodeBuilder node = model.Node(op_type, inputs, {"y"});
  if (change != nullptr) {
    change(model, node);
  }
  return FloatsOf(model.Run({x}).at(0));
}

TEST(NewerOperators, Activations) {
  const Tensor x = Tensor::OfFloats({2}, {1.0f, -1.0f});
  EXPECT_THAT(ValuesOf("Mish", 18, x),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.8650984f, -0.3034015f}));
  EXPECT_THAT(ValuesOf("Gelu", 20, x),
              Pointwise(FloatNear(1e-6f), std::vector<float>{0.8413447f, -0.1586553f}));
}

TEST(NewerOperators, GroupNormalizationHasParametersByGroupThenByChannel) {
  const Tensor x = Tensor::OfFloats({1, 4, 1}, {1, 3, 10, 30});
  const auto by_group = [](ModelBuilder& model, NodeBuilder& node) {
    model.Floats("s", {2}, {1, 2}).Floats("b", {2}, {0, 5});
    node.Int("num_groups", 2).Float("epsilon", 0.0f);
  };
  const auto by_channel = [](ModelBuilder& model, NodeBuilder& node) {
    model.Floats("s", {4}, {1, 1, 2, 2}).Floats("b", {4}, {0, 0, 5, 5});
    node.Int("num_groups", 2).Float("epsilon", 0.0f);
  };
  const std::vector<float> expected = {-1, 1, 3, 7};
  EXPECT_THAT(ValuesOf("GroupNormalization", 18, x, {"s", "b"}, by_group),
              Pointwise(FloatNear(1e-5f), expected));
  EXPECT_THAT(ValuesOf("GroupNormalization", 21, x, {"s", "b"}, by_channel),
              Pointwise(FloatNear(1e-5f), expected));
}

TEST(NewerOperators, CenterCropPadTakesTheOddElementFromTheEnd) {
  const auto to = [](ModelBuilder& model, NodeBuilder&) { model.Ints("shape", {2, 4}); };
  EXPECT_THAT(ValuesOf("CenterCropPad", 18, Tensor::OfFloats({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                       {"shape"}, to),
              ElementsAre(1, 2, 3, 0, 4, 5, 6, 0));
}

TEST(NewerOperators, Col2ImAddsOverlappingWindows) {
  const auto windows = [](ModelBuilder& model, NodeBuilder&) {
    model.Ints("image", {1, 3}).Ints("block", {1, 2});
  };
  EXPECT_THAT(ValuesOf("Col2Im", 18, Tensor::OfFloats({1, 2, 2}, {1, 2, 10, 20}),
                       {"image", "block"}, windows),
              ElementsAre(1, 12, 20));
}

TEST(NewerOperators, AffineGridNamesPixelCentresOrCorners) {
  const Tensor identity = Tensor::OfFloats({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  const auto corners = [](ModelBuilder& model, NodeBuilder& node) {
    model.Ints("size", {1, 1, 1, 2});
    node.Int("align_corners", 1);
  };
  const auto centres = [](ModelBuilder& model, NodeBuilder&) { model.Ints("size", {1, 1, 1, 2}); };
  EXPECT_THAT(ValuesOf("AffineGrid", 20, identity, {"size"}, corners), ElementsAre(-1, -1, 1, -1));
  EXPECT_THAT(ValuesOf("AffineGrid", 20, identity, {"size"}, centres),
              ElementsAre(-0.5, 0, 0.5, 0));
}

// Half of the spectrum of a real signal gives the signal back.
TEST(NewerOperators, OnesidedTransformsInvertEachOther) {
  ModelBuilder model(20);
  model.Input("x", {1, 5, 1}).Output("y");
  model.Initializer("length", onnx::TensorProto::INT64, {}).add_int64_data(5);
  model.Node("DFT", {"x", "length"}, {"half"}).Int("onesided", 1);
  model.Node("DFT", {"half", "length"}, {"y"}).Int("onesided", 1).Int("inverse", 1);
  const std::vector<float> signal = {1, -2, 3, 0.5f, 4};
  const Tensor y = model.Run({Tensor::OfFloats({1, 5, 1}, signal)}).at(0);
  EXPECT_EQ(y.shape(), Shape({1, 5, 1}));
  EXPECT_THAT(FloatsOf(y), Pointwise(FloatNear(1e-5f), signal));
}

TEST(NewerOperators, LpPoolIsTheNormOfEachWindow) {
  const auto window = [](ModelBuilder&, NodeBuilder& node) {
    node.Ints("kernel_shape", {2}).Ints("strides", {2});
  };
  EXPECT_THAT(ValuesOf("LpPool", 18, Tensor::OfFloats({1, 1, 4}, {3, -4, 0, 2}), {}, window),
              Pointwise(FloatNear(1e-5f), std::vector<float>{5, 2}));
}

TEST(NewerOperators, BitsOfIntegers) {
  ModelBuilder model(18);
  model.Input("a", {2}, onnx::TensorProto::UINT8).Output("y", onnx::TensorProto::UINT8);
  model.Node("BitwiseNot", {"a"}, {"not"});
  model.Node("BitwiseXor", {"a", "not"}, {"all"});
  model.Node("BitwiseAnd", {"all", "a"}, {"y"});
  const Tensor a = Tensor::Of<uint8_t>(DType::kUint8, {2}, {0x0f, 0xa5});
  EXPECT_THAT(model.Run({a}).at(0).values<uint8_t>(), ElementsAre(0x0f, 0xa5));
}

}  // namespace
}  // namespace qb::testing
