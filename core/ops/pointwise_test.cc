#include "core/ops/pointwise.h"

#include <cmath>

#include "core/base/testing/status_matchers.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

double Evaluate(absl::string_view expression, double x) {
  const absl::StatusOr<Graph> graph = testing::GraphOfSample(expression);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return EvaluatePointwise(*graph->FindNode("r"), x);
}

// Expected values computed by hand or with another program (Python's math).
TEST(EvaluatePointwise, KnownValues) {
  EXPECT_DOUBLE_EQ(Evaluate("Identity(x)", -3.5), -3.5);
  EXPECT_DOUBLE_EQ(Evaluate("Relu(x)", -2.0), 0.0);
  EXPECT_DOUBLE_EQ(Evaluate("LeakyRelu(x) {leaky_alpha=0.25}", -2.0), -0.5);
  EXPECT_DOUBLE_EQ(Evaluate("Clip(x) {clip_min_value=-1.0, clip_max_value=6.0}", 7.0), 6.0);
  EXPECT_DOUBLE_EQ(Evaluate("Clip(x)", -1e30), -1e30);
  EXPECT_NEAR(Evaluate("Sigmoid(x)", 1.0), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(Evaluate("Sigmoid(x) {alpha=2.0}", 0.5), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(Evaluate("Tanh(x)", 0.5), 0.46211715726000973, 1e-15);
  EXPECT_NEAR(Evaluate("HardSigmoid(x)", 1.0), 0.7, 1e-7);
  EXPECT_DOUBLE_EQ(Evaluate("HardSwish(x)", 3.0), 3.0);
  EXPECT_NEAR(Evaluate("HardSwish(x)", -1.0), -1.0 / 3.0, 1e-15);
  EXPECT_NEAR(Evaluate("Swish(x)", 1.0), 0.7310585786300049, 1e-15);
  EXPECT_NEAR(Evaluate("Elu(x) {leaky_alpha=2.0}", -1.0), -1.2642411176571153, 1e-15);
  EXPECT_DOUBLE_EQ(Evaluate("Exp(x)", 0.0), 1.0);
  EXPECT_DOUBLE_EQ(Evaluate("Log(x)", 1.0), 0.0);
  EXPECT_DOUBLE_EQ(Evaluate("Sqrt(x)", 9.0), 3.0);
  EXPECT_DOUBLE_EQ(Evaluate("Abs(x)", -9.0), 9.0);
  EXPECT_DOUBLE_EQ(Evaluate("Neg(x)", -9.0), 9.0);
  EXPECT_NEAR(Evaluate("Erf(x)", 0.5), 0.5204998778130465, 1e-15);
  EXPECT_DOUBLE_EQ(Evaluate("Ceil(x)", -0.5), 0.0);
  EXPECT_DOUBLE_EQ(Evaluate("Floor(x)", -0.5), -1.0);
  EXPECT_NEAR(Evaluate("Softplus(x)", 1.0), 1.3132616875182228, 1e-15);
}

TEST(EvaluatePointwise, LargeArgumentsStayFinite) {
  for (const char* expression : {"Sigmoid(x)", "Tanh(x)", "Softplus(x)", "Swish(x)", "Elu(x)"}) {
    EXPECT_TRUE(std::isfinite(Evaluate(expression, 1e4))) << expression;
    EXPECT_TRUE(std::isfinite(Evaluate(expression, -1e4))) << expression;
  }
}

TEST(EvaluatePointwise, ActivationsWithParameters) {
  EXPECT_NEAR(Evaluate("Celu(x) {alpha=2}", -1.0), 2.0 * std::expm1(-0.5), 1e-15);
  EXPECT_NEAR(Evaluate("Selu(x) {alpha=2, gamma=3}", -1.0), 6.0 * std::expm1(-1.0), 1e-15);
  EXPECT_NEAR(Evaluate("Gelu(x)", 1.0), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(Evaluate("Gelu(x) {approximate=true}", 1.0), 0.8411919906082768, 1e-15);
  EXPECT_NEAR(Evaluate("Mish(x)", 1.0), 0.8650983882673103, 1e-15);
  EXPECT_EQ(Evaluate("Shrink(x) {lambd=0.5, bias=0.25}", -2.0), -1.75);
  EXPECT_EQ(Evaluate("Shrink(x) {lambd=0.5, bias=0.25}", 0.5), 0.0);
  EXPECT_EQ(Evaluate("ThresholdedRelu(x) {alpha=2}", 2.0), 0.0);
  EXPECT_EQ(Evaluate("Round(x)", 2.5), 2.0);
  EXPECT_EQ(Evaluate("Sign(x)", -0.1), -1.0);
}

TEST(IsPointwise, CoversWhatCanBeEvaluated) {
  int pointwise = 0;
  for (const testing::OpSample& sample : testing::kOpSamples) {
    if (IsPointwise(sample.kind)) {
      ++pointwise;
      EXPECT_FALSE(std::isnan(Evaluate(sample.expression, 1.0))) << sample.expression;
    }
  }
  EXPECT_EQ(pointwise, 39);
  EXPECT_FALSE(IsPointwise(OpKind::kCast));
}

}  // namespace
}  // namespace qb
