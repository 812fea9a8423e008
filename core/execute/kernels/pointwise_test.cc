#include "core/ops/pointwise.h"

#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"
#include "core/ops/testing/op_samples.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;
using testing::EvaluateText;
using ::testing::Lt;
using testing::ValuesOf;

// Values over the range in which the functions bend, and some far outside.
constexpr char kGrid[] = R"(
  g = InputConstant float32[601] random(1)
  s = InputConstant float32[scalar] [12]
  x0 = Multiply(g, s)
  e = InputConstant float32[6] [0, -0.5, 90, -90, 1e-6, -1e-3]
  x = Concatenate(x0, e) {axis=0}
  p0 = Abs(x)
  tiny = InputConstant float32[scalar] [1e-4]
  p = Adding(p0, tiny)
)";

void ExpectTheFunction(const std::string& expression, double tolerance) {
  SCOPED_TRACE(expression);
  absl::StatusOr<Evaluated> evaluated = EvaluateText(kGrid, expression);
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  const Node& node = evaluated->node("r");
  const auto x = (*evaluated)[node.operand(0)->name()].values<float>();
  const auto y = (*evaluated)["r"].values<float>();
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = EvaluatePointwise(node, static_cast<double>(x[i]));
    if (std::abs(expected) > 3e38) {
      continue;
    }
    EXPECT_NEAR(static_cast<double>(y[i]), expected, tolerance * std::max(1.0, std::abs(expected)))
        << "at " << x[i];
  }
}

TEST(Pointwise, EqualsTheFunctionInDouble) {
  for (const char* expression :
       {"Relu(x)", "Tanh(x)", "HardSwish(x)", "Swish(x)", "Abs(x)", "Neg(x)", "Erf(x)", "Ceil(x)",
        "Floor(x)", "Softplus(x)", "Log(p)", "Sqrt(p)", "LeakyRelu(x) {leaky_alpha=0.2}",
        "Elu(x) {leaky_alpha=1.5}", "Clip(x) {clip_min_value=-1, clip_max_value=2.5}", "Sigmoid(x)",
        "Sigmoid(x) {alpha=1.7}", "HardSigmoid(x) {alpha=0.3, beta=0.4}", "Exp(x)"}) {
    ExpectTheFunction(expression, 2e-6);
  }
}

TEST(Pointwise, ComputesInDoubleAndInIntegers) {
  EXPECT_THAT(ValuesOf<double>("x = InputConstant float64[2] [-1.5, 2.25]", "Relu(x)"),
              ElementsAre(0.0, 2.25));
  EXPECT_THAT(ValuesOf<int64_t>("x = InputConstant int64[3] [-1, 5, 9]",
                                "Clip(x) {clip_min_value=0, clip_max_value=7}"),
              ElementsAre(0, 5, 7));
  EXPECT_THAT(ValuesOf<int32_t>("x = InputConstant int32[2] [-2147483648, 5]", "Abs(x)"),
              ElementsAre(std::numeric_limits<int32_t>::min(), 5));
}

}  // namespace
}  // namespace qb
