#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/frontends/onnx/testing/model_builder.h"

namespace qb::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a quantized model says about activations stays in the graph; of weights the values do.
TEST(ImportQuantized, ParametersOfActivationsAreKept) {
  ModelBuilder model(13);
  model.Input("x", {1, 2}).Output("y");
  model.Floats("scale", {}, {0.5f});
  model.Initializer("zero", onnx::TensorProto::INT8, {}).add_int32_data(-3);
  model.Initializer("w", onnx::TensorProto::INT8, {2, 2}).mutable_int32_data()->Add(4);
  for (const int value : {2, -2, 6}) {
    model.graph().mutable_initializer(2)->add_int32_data(value);
  }
  model.Node("QuantizeLinear", {"x", "scale", "zero"}, {"codes"});
  model.Node("DequantizeLinear", {"codes", "scale", "zero"}, {"real"});
  model.Node("DequantizeLinear", {"w", "scale"}, {"weights"});
  model.Node("MatMul", {"real", "weights"}, {"y"});
  const std::string text = model.Text();
  EXPECT_THAT(text, HasSubstr("codes = QuantizeLinear(x, scale, zero)"));
  EXPECT_THAT(text, HasSubstr("real = DequantizeLinear(codes, scale, zero)"));
  EXPECT_THAT(text, HasSubstr("weights = InputConstant float32[2x2] [2.0, 1.0, -1.0, 3.0]"));
  // 0.75 / 0.5 rounds to 2 (half to even); 100 saturates at 127 + 3 steps.
  EXPECT_THAT(FloatsOf(model.Run({Tensor::OfFloats({1, 2}, {0.75f, 100.0f})}).at(0)),
              ElementsAre(2 * 1 - 65, 1 + 65 * 3));
}

TEST(ImportQuantized, IntegerOperatorsAreExact) {
  ModelBuilder model(13);
  model.Input("a", {1, 2}, onnx::TensorProto::UINT8).Output("y", onnx::TensorProto::INT32);
  onnx::TensorProto& b = model.Initializer("b", onnx::TensorProto::INT8, {2, 1});
  b.add_int32_data(-128);
  b.add_int32_data(127);
  model.Initializer("zero", onnx::TensorProto::UINT8, {}).add_int32_data(255);
  model.Node("MatMulInteger", {"a", "b", "zero"}, {"y"});
  const Tensor a = Tensor::Of<uint8_t>(DType::kUint8, {1, 2}, {0, 255});
  EXPECT_THAT(model.Run({a}).at(0).values<int32_t>(), ElementsAre(255 * 128));
}

}  // namespace
}  // namespace qb::testing
