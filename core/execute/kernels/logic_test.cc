#include <gmock/gmock.h>

#include "core/base/testing/status_matchers.h"
#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::EvaluateText;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ValuesOf;

constexpr char kValues[] = R"(
  a = InputConstant float32[2x2] [1, 2, 3, 4]
  b = InputConstant float32[2] [2, 3]
  i = InputConstant int32[4] [7, -7, 7, -7]
  j = InputConstant int32[4] [3, 3, -3, -3]
  t = InputConstant bool[2] [1, 0]
)";

std::vector<int> TruthsOf(const char* expression) {
  const absl::StatusOr<testing::Evaluated> value = EvaluateText(kValues, expression);
  EXPECT_TRUE(value.ok()) << value.status();
  const Tensor& result = (*value)["r"];
  EXPECT_EQ(result.dtype(), DType::kBool);
  return {result.values<uint8_t>().begin(), result.values<uint8_t>().end()};
}

TEST(Logic, ComparesWithBroadcasting) {
  EXPECT_THAT(TruthsOf(R"(TensorCmp(a, b) {kind="eq"})"), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(TruthsOf(R"(TensorCmp(a, b) {kind="neq"})"), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(TruthsOf(R"(TensorCmp(a, b) {kind="lt"})"), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(TruthsOf(R"(TensorCmp(b, b) {kind="le"})"), ElementsAre(1, 1));
  EXPECT_THAT(TruthsOf(R"(TensorCmp(a, b) {kind="gt"})"), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(TruthsOf(R"(TensorCmp(i, j) {kind="ge"})"), ElementsAre(1, 0, 1, 0));
}

TEST(Logic, JoinsTruths) {
  EXPECT_THAT(TruthsOf(R"(Logical(t) {kind="not"})"), ElementsAre(0, 1));
  EXPECT_THAT(TruthsOf(R"(Logical(t, t) {kind="xor"})"), ElementsAre(0, 0));
  EXPECT_THAT(EvaluateText(kValues, R"(Logical(t, t) {kind="not"})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("it has 2 operands")));
}

TEST(Logic, RemaindersFollowTheDivisorOrTheDividend) {
  const auto ints = [](const char* expression) {
    const absl::StatusOr<testing::Evaluated> value = EvaluateText(kValues, expression);
    EXPECT_TRUE(value.ok()) << value.status();
    return std::vector<int32_t>((*value)["r"].values<int32_t>().begin(),
                                (*value)["r"].values<int32_t>().end());
  };
  EXPECT_THAT(ints("Mod(i, j)"), ElementsAre(1, 2, -2, -1));
  EXPECT_THAT(ints("Mod(i, j) {fmod=true}"), ElementsAre(1, -1, 1, -1));
  EXPECT_THAT(
      EvaluateText("i = InputConstant int32[1] [1]\nz = InputConstant int32[1] [0]", "Mod(i, z)"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("division by zero")));
}

TEST(Logic, WhereChoosesByElement) {
  EXPECT_THAT(ValuesOf(kValues, "Where(t, a, b)"), ElementsAre(1, 3, 3, 3));
}

// float16 and 8-bit integers run in wider types; integers wrap on the way back.
TEST(Widening, NarrowTypesComputeInWiderOnes) {
  QB_ASSERT_OK_AND_ASSIGN(const testing::Evaluated bytes,
                          EvaluateText("a = InputConstant uint8[2] [200, 3]\n"
                                       "b = InputConstant uint8[2] [100, 4]",
                                       "Adding(a, b)"));
  EXPECT_THAT(bytes["r"].values<uint8_t>(), ElementsAre(44, 7));
  // 1 and 2 as bits of float16.
  QB_ASSERT_OK_AND_ASSIGN(
      const testing::Evaluated halves,
      EvaluateText("a = InputConstant float16[2] [15360, 16384]", "Adding(a, a)"));
  EXPECT_THAT(halves["r"].values<uint16_t>(), ElementsAre(16384, 17408));
}

// A kernel without float64 runs in float32; one with it keeps the precision.
TEST(Widening, DoublesRunInFloatOnlyWhereTheyHaveTo) {
  constexpr char kDoubles[] = "a = InputConstant float64[1x2] [1, 1.000000001]";
  QB_ASSERT_OK_AND_ASSIGN(const testing::Evaluated softmax,
                          EvaluateText(kDoubles, "Softmax(a) {axis=1}"));
  EXPECT_NEAR(softmax["r"].data<double>()[0], 0.5, 1e-6);
  EXPECT_THAT(ValuesOf<double>(kDoubles, "Sub(a, a)"), ElementsAre(0, 0));
  EXPECT_THAT(ValuesOf<double>(kDoubles, "Adding(a, a)"), ElementsAre(2, 2.000000002));
}

}  // namespace
}  // namespace qb
