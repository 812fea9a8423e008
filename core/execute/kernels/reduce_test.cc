// Reductions, softmax, batch normalization.
#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;
using testing::EvaluateText;
using ::testing::FloatNear;
using ::testing::Lt;
using ::testing::Pointwise;
using testing::ValuesOf;

constexpr char kCube[] =
    "x = InputConstant float32[2x2x3] [1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, 60]";

TEST(Reduce, ComputesEachFunctionOverAnyAxes) {
  EXPECT_THAT(ValuesOf(kCube, "ReduceSum(x) {reduce_axes=[2]}"), ElementsAre(6, 15, -6, 51));
  EXPECT_THAT(ValuesOf(kCube, "ReduceSum(x) {reduce_axes=[0]}"), ElementsAre(0, 0, 0, 0, 0, 66));
  EXPECT_THAT(ValuesOf(kCube, "ReduceMean(x) {reduce_axes=[1], keep_dims=false}"),
              ElementsAre(2.5, 3.5, 4.5, -2.5, -3.5, 28.5));
  EXPECT_THAT(ValuesOf(kCube, "ReduceMax(x) {reduce_axes=[0, 2]}"), ElementsAre(3, 60));
  EXPECT_THAT(ValuesOf(kCube, "ReduceMin(x) {reduce_axes=[0, 1, 2]}"), ElementsAre(-5));
}

TEST(Reduce, SumsLongRowsOfEveryLength) {
  for (int64_t length : {1, 15, 16, 17, 100, 1000}) {
    absl::StatusOr<Evaluated> evaluated =
        EvaluateText(absl::StrCat("x = InputConstant float32[3x", length, "] random(2)"),
                     "ReduceSum(x) {reduce_axes=[1], keep_dims=false}");
    ASSERT_TRUE(evaluated.ok()) << evaluated.status();
    for (size_t row = 0; row < 3; ++row) {
      double sum = 0.0;
      for (size_t i = 0; i < static_cast<size_t>(length); ++i) {
        sum += static_cast<double>(
            (*evaluated)["x"].values<float>()[row * static_cast<size_t>(length) + i]);
      }
      EXPECT_NEAR(static_cast<double>((*evaluated)["r"].values<float>()[row]), sum, 1e-4);
    }
  }
}

TEST(Reduce, ComputesInIntegers) {
  EXPECT_THAT(
      ValuesOf<int64_t>("x = InputConstant int64[3] [4, -9, 7]", "ReduceMax(x) {reduce_axes=[0]}"),
      ElementsAre(7));
}

TEST(Softmax, SumsToOneAlongAnyAxis) {
  EXPECT_THAT(ValuesOf("x = InputConstant float32[1x2] [0, 0.69314718]", "Softmax(x) {axis=1}"),
              Pointwise(FloatNear(1e-6f), {1.0f / 3, 2.0f / 3}));
  EXPECT_THAT(
      ValuesOf("x = InputConstant float32[2x2] [1000, -5, 1000, -5]", "Softmax(x) {axis=0}"),
      Pointwise(FloatNear(1e-6f), {0.5f, 0.5f, 0.5f, 0.5f}));
  EXPECT_THAT(
      ValuesOf("x = InputConstant float32[2] [0, 1]", "Softmax(x) {axis=0, beta=0.69314718}"),
      Pointwise(FloatNear(1e-6f), {1.0f / 3, 2.0f / 3}));
}

TEST(Softmax, IsAccurateOverAWideRange) {
  absl::StatusOr<Evaluated> evaluated = EvaluateText(
      "g = InputConstant float32[1000] random(3)\ns = InputConstant float32[1] [30]\n"
      "x = Multiply(g, s)",
      "Softmax(x) {axis=0}");
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  const auto x = (*evaluated)["x"].values<float>();
  double sum = 0.0;
  for (float value : x) {
    sum += std::exp(static_cast<double>(value));
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = std::exp(static_cast<double>(x[i])) / sum;
    // The argument x - max alone has a rounding error of up to 60 * 2^-24.
    EXPECT_NEAR(static_cast<double>((*evaluated)["r"].values<float>()[i]), expected,
                6e-6 * expected);
  }
}

TEST(Softmax, OfAnOuterAxisEqualsThatOfTheLast) {
  const char* x = "x = InputConstant float32[2x7x100] random(6)\n";
  const std::vector<float> outer = ValuesOf(x, "Softmax(x) {axis=1, beta=3}");
  const std::vector<float> last =
      ValuesOf(absl::StrCat(x,
                            "t = Transpose(x) {transpose_axes=[0, 2, 1]}\n"
                            "s = Softmax(t) {axis=2, beta=3}"),
               "Transpose(s) {transpose_axes=[0, 2, 1]}");
  EXPECT_THAT(testing::RelativeError(outer, last), Lt(1e-6));
}

TEST(Softmax, GivesMaskedPositionsZeroNotSubnormalNumbers) {
  EXPECT_THAT(ValuesOf("x = InputConstant float32[3] [0, -1000, 0]", "Softmax(x) {axis=0}"),
              ElementsAre(0.5f, 0.0f, 0.5f));
}

TEST(Batchnorm, NormalizesTheChannelAxis) {
  const char* operands = R"(x = InputConstant float32[1x2x2] [1, 2, 3, 4]
    g = InputConstant float32[2] [2, 1]
    b = InputConstant float32[2] [10, 0]
    m = InputConstant float32[2] [1, 2]
    v = InputConstant float32[2] [4, 0.25])";
  EXPECT_THAT(ValuesOf(operands, "Batchnorm(x, g, b, m, v) {epsilon=0, axis=1}"),
              ElementsAre(10, 11, 2, 4));
  EXPECT_THAT(ValuesOf(operands, "Batchnorm(x, g, b, m, v) {epsilon=0, axis=2}"),
              ElementsAre(10, 0, 12, 4));
}

}  // namespace
}  // namespace qb
