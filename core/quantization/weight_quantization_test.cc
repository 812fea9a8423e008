#include "core/quantization/weight_quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/failure.h"
#include "core/base/testing/status_matchers.h"
#include "core/integer/requant.h"
#include "core/ops/graph_text.h"

namespace qb {
namespace {

using ::testing::ElementsAre;

class QuantizeLinearTest : public ::testing::Test {
 protected:
  QuantizeLinearTest() { node_ = graph_.AddInput("fc", {DType::kFloat32, {1, 2}}); }

  // Output channels of `products` weights each.
  absl::StatusOr<integer::ConvParams> Quantize(int64_t products, const std::vector<float>& weights,
                                               const std::vector<float>& bias) {
    LinearForm form;
    form.weights = Tensor::OfFloats({static_cast<int64_t>(bias.size()), 1, 1, products}, weights);
    form.bias = bias;
    form.window.channels = products;
    return QuantizeLinear(*node_, form, {input_, output_, bits_});
  }

  Graph graph_;
  Node* node_;
  ValueScale input_{.scale = 0.02f, .zero_point = -128};
  int bits_ = 8;
  ValueScale output_{.scale = 0.05f, .zero_point = 0};
};

TEST_F(QuantizeLinearTest, ScalesEachChannelByItsLargestWeight) {
  QB_ASSERT_OK_AND_ASSIGN(const integer::ConvParams conv,
                          Quantize(2, {1.27f, -0.5f, -12.7f, 0.1f}, {0.5f, -1.0f}));
  EXPECT_THAT(conv.weights, ElementsAre(127, -50, -127, 1));
  EXPECT_NEAR(conv.weight_scales[0], 0.01, 1e-7);
  EXPECT_NEAR(conv.weight_scales[1], 0.1, 1e-7);
  EXPECT_THAT(conv.bias, ElementsAre(2500, -500));
  EXPECT_NEAR(integer::MultiplierOf(conv.requant[0]), 0.02 * 0.01 / 0.05, 1e-9);
}

TEST_F(QuantizeLinearTest, KeepsTheBiasOfADeadChannel) {
  const float denormal = std::numeric_limits<float>::denorm_min();
  QB_ASSERT_OK_AND_ASSIGN(const integer::ConvParams conv,
                          Quantize(2, {0, 0, denormal, -denormal}, {1.0f, -2.0f}));
  EXPECT_THAT(conv.weights, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(integer::ApplyRequant(conv.bias[0], conv.requant[0], 0, -128, 127), 20);
  EXPECT_EQ(integer::ApplyRequant(conv.bias[1], conv.requant[1], 0, -128, 127), -40);
}

TEST_F(QuantizeLinearTest, EnlargesTheScaleUnderALargeBias) {
  QB_ASSERT_OK_AND_ASSIGN(const integer::ConvParams conv, Quantize(2, {1e-9f, -5e-10f}, {3.0f}));
  EXPECT_THAT(integer::CheckAccumulatorBound(conv, input_.zero_point), testing::IsOk());
  EXPECT_EQ(integer::ApplyRequant(conv.bias[0], conv.requant[0], 0, -128, 127), 60);
}

TEST_F(QuantizeLinearTest, KeepsTheAccumulatorBoundForLongSums) {
  const std::vector<float> weights(100000, 1.0f);
  QB_ASSERT_OK_AND_ASSIGN(const integer::ConvParams conv, Quantize(100000, weights, {0.0f}));
  EXPECT_THAT(integer::CheckAccumulatorBound(conv, input_.zero_point), testing::IsOk());
  EXPECT_NEAR(conv.weights[0] * conv.weight_scales[0], 1.0, 0.02);
}

TEST_F(QuantizeLinearTest, RefusesNan) {
  EXPECT_EQ(FailureCodeOf(Quantize(1, {std::nanf("")}, {0.0f}).status()),
            FailureCode::kModelParseError);
  EXPECT_EQ(FailureCodeOf(Quantize(1, {1.0f}, {std::numeric_limits<float>::infinity()}).status()),
            FailureCode::kModelParseError);
}

TEST(CodesOf, FollowsTheActivation) {
  const ValueScale non_negative{.scale = 6.0f / 255.0f, .zero_point = -128};
  const ValueScale symmetric{.scale = 0.1f, .zero_point = 0};
  EXPECT_EQ(CodesOf({}, symmetric).low, -128);
  EXPECT_EQ(CodesOf({ActivationKind::kRelu}, non_negative).low, -128);
  EXPECT_EQ(CodesOf({ActivationKind::kRelu}, symmetric).low, 0);
  const CodeRange clip = CodesOf({ActivationKind::kClip, -1.0f, 6.0f}, symmetric);
  EXPECT_EQ(clip.low, -10);
  EXPECT_EQ(clip.high, 60);
  EXPECT_EQ(CodesOf({ActivationKind::kClip, 0.0f, 6.0f}, non_negative).high, 127);
}

TEST(RoundHalfEven, RoundsTiesToEven) {
  EXPECT_EQ(RoundHalfEven(0.5), 0);
  EXPECT_EQ(RoundHalfEven(1.5), 2);
  EXPECT_EQ(RoundHalfEven(-0.5), 0);
  EXPECT_EQ(RoundHalfEven(-1.5), -2);
  EXPECT_EQ(RoundHalfEven(-2.51), -3);
}

}  // namespace
}  // namespace qb
