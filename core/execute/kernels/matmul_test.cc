#include "core/ops/matmul.h"

#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;
using testing::EvaluateText;
using ::testing::Lt;
using testing::ValuesOf;

// Two shapes, and by hand what they are expanded to one batch shape.
struct Case {
  const char* a;
  const char* b;
  int64_t batches, a_batches, b_batches;
  std::array<int64_t, 3> mkn;
};

// The product by its definition.
std::vector<float> NaiveProduct(const Tensor& a, const Tensor& b, const Case& c) {
  const auto [m, k, n] = c.mkn;
  std::vector<float> result;
  for (int64_t batch = 0; batch < c.batches; ++batch) {
    const float* x = a.data<float>() + batch % c.a_batches * m * k;
    const float* y = b.data<float>() + batch % c.b_batches * k * n;
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (int64_t t = 0; t < k; ++t) {
          sum += static_cast<double>(x[i * k + t]) * static_cast<double>(y[t * n + j]);
        }
        result.push_back(static_cast<float>(sum));
      }
    }
  }
  return result;
}

constexpr Case kCases[] = {
    {"4x5", "5x7", 1, 1, 1, {4, 5, 7}},         {"1x64", "64x33", 1, 1, 1, {1, 64, 33}},
    {"2x3x4x5", "5x6", 6, 6, 1, {4, 5, 6}},     {"2x3x4x5", "2x3x5x6", 6, 6, 6, {4, 5, 6}},
    {"3x4x5", "2x3x5x6", 6, 3, 6, {4, 5, 6}},   {"4x5", "3x5x2", 3, 1, 3, {4, 5, 2}},
    {"2x3x4x5", "1x3x5x6", 6, 6, 3, {4, 5, 6}}, {"5", "5x3", 1, 1, 1, {1, 5, 3}},
    {"4x5", "5", 1, 1, 1, {4, 5, 1}},           {"5", "5", 1, 1, 1, {1, 5, 1}},
};

TEST(MatMul, EqualsItsDefinition) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.a, " by ", c.b));
    for (const char* b : {"v", "Neg(v)"}) {
      absl::StatusOr<Evaluated> evaluated = EvaluateText(
          absl::StrCat("a = InputConstant float32[", c.a, "] random(1)\n",
                       "v = InputConstant float32[", c.b, "] random(2)\n", "u = Neg(v)\n"),
          absl::StrCat("MatMul(a, ", b[0] == 'v' ? "v" : "u", ")"));
      ASSERT_TRUE(evaluated.ok()) << evaluated.status();
      const auto values = (*evaluated)["r"].values<float>();
      const std::vector<float> expected =
          NaiveProduct((*evaluated)["a"], (*evaluated)[b[0] == 'v' ? "v" : "u"], c);
      EXPECT_THAT(testing::RelativeError({values.begin(), values.end()}, expected), Lt(1e-6));
    }
  }
}

TEST(MatMul, AddsBiasThenActivates) {
  const char* operands = R"(a = InputConstant float32[2x2] [1, 2, 3, 4]
    b = InputConstant float32[2x2] [1, 0, 0, 1]
    c = InputConstant float32[2] [-2, 10])";
  EXPECT_THAT(ValuesOf(operands, "MatMul(a, b, c)"), ElementsAre(-1.0f, 12.0f, 1.0f, 14.0f));
  EXPECT_THAT(ValuesOf(operands, R"(MatMul(a, b, c) {activation="relu"})"),
              ElementsAre(0.0f, 12.0f, 1.0f, 14.0f));
  EXPECT_THAT(
      ValuesOf(operands,
               R"(MatMul(a, b, c) {activation="clip", activation_min=0, activation_max=13})"),
      ElementsAre(0.0f, 12.0f, 1.0f, 13.0f));
}

TEST(MatMul, MultipliesIntegers) {
  EXPECT_THAT(ValuesOf<int64_t>(R"(a = InputConstant int64[1x2] [3, -4]
                                   b = InputConstant int64[2x2] [1, 2, 5, 1])",
                                "MatMul(a, b)"),
              ElementsAre(-17, 2));
}

}  // namespace
}  // namespace qb
