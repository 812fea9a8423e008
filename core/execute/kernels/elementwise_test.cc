#include <gmock/gmock.h>

#include <limits>

#include "core/base/testing/status_matchers.h"
#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::EvaluateText;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ValuesOf;

constexpr char kFloats[] = R"(
  a = InputConstant float32[2x3] [1, -2, 3, 4, 5, -6]
  b = InputConstant float32[2x3] [2, 2, 2, -1, 0.5, 3]
  row = InputConstant float32[3] [10, 20, 30]
  column = InputConstant float32[2x1] [100, 200]
  one = InputConstant float32[scalar] [2]
)";

TEST(Elementwise, ComputesEachFunction) {
  EXPECT_THAT(ValuesOf(kFloats, "Adding(a, b)"), ElementsAre(3, 0, 5, 3, 5.5, -3));
  EXPECT_THAT(ValuesOf(kFloats, "Sub(a, b)"), ElementsAre(-1, -4, 1, 5, 4.5, -9));
  EXPECT_THAT(ValuesOf(kFloats, "Multiply(a, b)"), ElementsAre(2, -4, 6, -4, 2.5, -18));
  EXPECT_THAT(ValuesOf(kFloats, "Div(a, b)"), ElementsAre(0.5, -1, 1.5, -4, 10, -2));
  EXPECT_THAT(ValuesOf(kFloats, "Maximum(a, b)"), ElementsAre(2, 2, 3, 4, 5, 3));
  EXPECT_THAT(ValuesOf(kFloats, "Minimum(a, b)"), ElementsAre(1, -2, 2, -1, 0.5, -6));
  EXPECT_THAT(ValuesOf(kFloats, "Pow(a, one)"), ElementsAre(1, 4, 9, 16, 25, 36));
  EXPECT_THAT(
      ValuesOf("a = InputConstant float32[2] [4, 8]\nb = InputConstant float32[2] [0.5, -1]",
               "Pow(a, b)"),
      ElementsAre(2, 0.125));
}

TEST(Elementwise, Broadcasts) {
  EXPECT_THAT(ValuesOf(kFloats, "Adding(a, row)"), ElementsAre(11, 18, 33, 14, 25, 24));
  EXPECT_THAT(ValuesOf(kFloats, "Adding(row, a)"), ElementsAre(11, 18, 33, 14, 25, 24));
  EXPECT_THAT(ValuesOf(kFloats, "Sub(a, column)"), ElementsAre(-99, -102, -97, -196, -195, -206));
  EXPECT_THAT(ValuesOf(kFloats, "Sub(one, a)"), ElementsAre(1, 4, -1, -2, -3, 8));
  EXPECT_THAT(ValuesOf(kFloats, "Adding(row, column)"), ElementsAre(110, 120, 130, 210, 220, 230));
  // Middle axes of both sides repeat.
  EXPECT_THAT(ValuesOf(R"(a = InputConstant float32[2x1x2] [1, 2, 3, 4]
                          b = InputConstant float32[1x2x1] [10, 20])",
                       "Adding(a, b)"),
              ElementsAre(11, 12, 21, 22, 13, 14, 23, 24));
}

TEST(Elementwise, AppliesItsActivation) {
  EXPECT_THAT(ValuesOf(kFloats, R"(Sub(a, b) {activation="relu"})"),
              ElementsAre(0, 0, 1, 5, 4.5, 0));
  EXPECT_THAT(
      ValuesOf(kFloats, R"(Adding(a, b) {activation="clip", activation_min=0, activation_max=4})"),
      ElementsAre(3, 0, 4, 3, 4, 0));
}

TEST(Elementwise, ComputesInIntegers) {
  const char* operands = R"(a = InputConstant int64[4] [7, -7, 9223372036854775807, 6]
                            b = InputConstant int64[4] [2, 2, 1, -1])";
  const int64_t smallest = std::numeric_limits<int64_t>::min();
  EXPECT_THAT(ValuesOf<int64_t>(operands, "Adding(a, b)"), ElementsAre(9, -5, smallest, 5));
  EXPECT_THAT(ValuesOf<int64_t>(operands, "Div(a, b)"),
              ElementsAre(3, -3, std::numeric_limits<int64_t>::max(), -6));
  EXPECT_THAT(ValuesOf<int32_t>(R"(a = InputConstant int32[2] [3, 2]
                                   b = InputConstant int32[2] [4, 40])",
                                "Pow(a, b)"),
              ElementsAre(81, std::numeric_limits<int32_t>::max()));
}

TEST(Elementwise, RefusesIntegerDivisionByZero) {
  EXPECT_THAT(EvaluateText(R"(a = InputConstant int64[2] [3, 2]
                              b = InputConstant int64[2] [4, 0])",
                           "Div(a, b)"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("node 'r' (Div): integer")));
}

TEST(Elementwise, KeepsNotANumber) {
  const char* operands = R"(a = InputConstant float32[1] [0]
                            b = Div(a, a))";
  EXPECT_TRUE(std::isnan(ValuesOf(operands, R"(Adding(b, a) {activation="relu"})")[0]));
}

}  // namespace
}  // namespace qb
