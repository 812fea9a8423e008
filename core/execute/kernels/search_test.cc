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
  x = InputConstant float32[2x3] [3, 9, 9, 7, 1, 7]
  i = InputConstant int64[2x1] [2, -3]
  far = InputConstant int64[2x1] [0, 3]
  u = InputConstant float32[2x1] [10, 20]
)";

std::vector<int64_t> IntsOf(const char* expression) {
  const absl::StatusOr<testing::Evaluated> value = EvaluateText(kValues, expression);
  EXPECT_TRUE(value.ok()) << value.status();
  return {(*value)["r"].values<int64_t>().begin(), (*value)["r"].values<int64_t>().end()};
}

TEST(Search, FindsTheFirstOrLastExtreme) {
  EXPECT_THAT(IntsOf("ArgMax(x) {axis=1}"), ElementsAre(1, 0));
  EXPECT_THAT(IntsOf("ArgMax(x) {axis=1, select_last=true}"), ElementsAre(2, 2));
  EXPECT_THAT(IntsOf("ArgMin(x) {axis=0, keep_dims=false}"), ElementsAre(0, 1, 1));
}

TEST(Search, TopKOrdersEqualElementsByIndex) {
  EXPECT_THAT(ValuesOf(kValues, "TopKValues(x) {axis=1, k=2}"), ElementsAre(9, 9, 7, 7));
  EXPECT_THAT(IntsOf("TopKIndices(x) {axis=1, k=2}"), ElementsAre(1, 2, 0, 2));
  EXPECT_THAT(IntsOf("TopKIndices(x) {axis=1, k=1, largest=false}"), ElementsAre(0, 1));
  EXPECT_THAT(EvaluateText(kValues, "TopKIndices(x) {axis=1, k=4}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("k is 4; accepted: 0 to 3")));
}

TEST(Search, RunningSums) {
  EXPECT_THAT(ValuesOf(kValues, "CumSum(x) {axis=1}"), ElementsAre(3, 12, 21, 7, 8, 15));
  EXPECT_THAT(ValuesOf(kValues, "CumSum(x) {axis=1, exclusive=true, reverse=true}"),
              ElementsAre(18, 9, 0, 8, 7, 0));
}

TEST(Indexing, GathersAndScattersByElement) {
  EXPECT_THAT(ValuesOf(kValues, "GatherElements(x, i) {axis=1}"), ElementsAre(9, 7));
  EXPECT_THAT(ValuesOf(kValues, "ScatterElements(x, i, u) {axis=1}"),
              ElementsAre(3, 9, 10, 20, 1, 7));
  EXPECT_THAT(ValuesOf(kValues, R"(ScatterElements(x, i, u) {axis=1, reduction="add"})"),
              ElementsAre(3, 9, 19, 27, 1, 7));
  EXPECT_THAT(
      EvaluateText(kValues, "GatherElements(x, far) {axis=1}"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("index 3 is outside [-3, 3)")));
  EXPECT_THAT(EvaluateText(kValues, "ScatterElements(x, far, u) {axis=1}"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("index 3 is outside")));
}

TEST(Indexing, TuplesNameSlicesOrElements) {
  constexpr char kTuples[] = R"(
    x = InputConstant float32[2x2] [1, 2, 3, 4]
    rows = InputConstant int64[2x1] [1, 0]
    places = InputConstant int64[2x2] [0, 1, 1, -1]
    u = InputConstant float32[2] [10, 20]
  )";
  EXPECT_THAT(ValuesOf(kTuples, "GatherND(x, rows)"), ElementsAre(3, 4, 1, 2));
  EXPECT_THAT(ValuesOf(kTuples, "GatherND(x, places)"), ElementsAre(2, 4));
  EXPECT_THAT(ValuesOf(kTuples, R"(ScatterND(x, places, u) {reduction="mul"})"),
              ElementsAre(1, 20, 3, 80));
}

}  // namespace
}  // namespace qb
