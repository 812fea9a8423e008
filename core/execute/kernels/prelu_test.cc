#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::ValuesOf;

constexpr char kDeclarations[] = R"(
  x = InputConstant float32[2x3] [-1, 2, -3, 4, -5, 0]
  n = InputConstant int32[4] [-3, 2, -1, 0]
  c = InputConstant float32[3] [0.5, 2, -1]
  r2 = InputConstant float32[2x1] [0.25, 10]
  s = InputConstant float32[scalar] [3]
  k = InputConstant int32[1] [-4]
)";

TEST(PRelu, SlopesBroadcastToTheOperand) {
  EXPECT_THAT(ValuesOf(kDeclarations, "PRelu(x, c)"), ElementsAre(-0.5f, 2, 3, 4, -10, 0));
  EXPECT_THAT(ValuesOf(kDeclarations, "PRelu(x, r2)"), ElementsAre(-0.25f, 2, -0.75f, 4, -50, 0));
  EXPECT_THAT(ValuesOf(kDeclarations, "PRelu(x, s)"), ElementsAre(-3, 2, -9, 4, -15, 0));
}

TEST(PRelu, TakesIntegers) {
  EXPECT_THAT(ValuesOf<int32_t>(kDeclarations, "PRelu(n, k)"), ElementsAre(12, 2, 4, 0));
}

}  // namespace
}  // namespace qb
