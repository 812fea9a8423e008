// Transpose, DepthToSpace, Concatenate, Slice, Pad, Expand, Gather, Cast.
#include "core/ops/movement.h"

#include <gmock/gmock.h>

#include <numeric>

#include "absl/strings/str_join.h"

#include "core/base/testing/status_matchers.h"
#include "core/execute/testing/graph_value.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;
using testing::EvaluateText;
using ::testing::HasSubstr;
using testing::StatusIs;
using testing::ValuesOf;

constexpr char kTwoByThree[] = "x = InputConstant float32[2x3] [1, 2, 3, 4, 5, 6]";

// Element by element from the definition: result index i of axis d is operand index of axis
// axes[d].
void ExpectPermuted(const Shape& shape, const std::vector<int64_t>& axes) {
  SCOPED_TRACE(absl::StrCat(shape.ToString(), " by ", absl::StrJoin(axes, ",")));
  absl::StatusOr<Evaluated> evaluated =
      EvaluateText(absl::StrCat("x = InputConstant float32[", shape.ToString(), "] random(9)"),
                   absl::StrCat("Transpose(x) {transpose_axes=[", absl::StrJoin(axes, ", "), "]}"));
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  const auto x = (*evaluated)["x"].values<float>();
  const auto y = (*evaluated)["r"].values<float>();
  const Shape result = (*evaluated)["r"].shape();
  const std::vector<int64_t> from = shape.strides();
  const std::vector<int64_t> to = result.strides();
  for (int64_t at = 0; at < result.elements(); ++at) {
    int64_t source = 0;
    for (size_t d = 0; d < axes.size(); ++d) {
      source += at / to[d] % result[static_cast<int64_t>(d)] * from[static_cast<size_t>(axes[d])];
    }
    ASSERT_EQ(y[static_cast<size_t>(at)], x[static_cast<size_t>(source)]) << "at " << at;
  }
}

TEST(Transpose, MovesEveryElementForAllPermutations) {
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{1, 17, 33, 3}, Shape{20, 1, 1, 18}}) {
    std::vector<int64_t> axes = {0, 1, 2, 3};
    do {
      ExpectPermuted(shape, axes);
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(Transpose, MovesOtherElementSizes) {
  EXPECT_THAT(ValuesOf<int64_t>("x = InputConstant int64[2x2] [1, 2, 3, 4]",
                                "Transpose(x) {transpose_axes=[1, 0]}"),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(ValuesOf<int8_t>("x = InputConstant int8[2x2] [1, 2, 3, 4]",
                               "Transpose(x) {transpose_axes=[1, 0]}"),
              ElementsAre(1, 3, 2, 4));
}

TEST(DepthToSpace, PlacesBlocksInBothOrders) {
  const char* x = "x = InputConstant float32[1x8x1x1] [0, 1, 2, 3, 4, 5, 6, 7]";
  EXPECT_THAT(ValuesOf(x, "DepthToSpace(x) {block_size=2}"), ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(ValuesOf(x, R"(DepthToSpace(x) {block_size=2, order="crd"})"),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  const char* last = "x = InputConstant float32[1x1x1x8] [0, 1, 2, 3, 4, 5, 6, 7]";
  EXPECT_THAT(ValuesOf(last, "DepthToSpace(x) {block_size=2, channel_last=true}"),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(ValuesOf(last, R"(DepthToSpace(x) {block_size=2, order="crd", channel_last=true})"),
              ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
}

TEST(SpaceToDepth, IsTheInverseOfDepthToSpace) {
  for (const char* attributes : {"{block_size=3}", "{block_size=3, channel_last=true}"}) {
    absl::StatusOr<Evaluated> evaluated =
        EvaluateText(absl::StrCat("x = InputConstant float32[1x18x6x36] random(4)\n",
                                  "d = DepthToSpace(x) ", attributes),
                     absl::StrCat("SpaceToDepth(d) ", attributes));
    ASSERT_TRUE(evaluated.ok()) << evaluated.status();
    EXPECT_TRUE((*evaluated)["r"].Equals((*evaluated)["x"]));
  }
}

TEST(Concatenate, JoinsAlongAnyAxis) {
  const std::string y = absl::StrCat(kTwoByThree, "\ny = InputConstant float32[2x1] [7, 8]");
  EXPECT_THAT(ValuesOf(y, "Concatenate(x, y) {axis=1}"), ElementsAre(1, 2, 3, 7, 4, 5, 6, 8));
  EXPECT_THAT(ValuesOf(kTwoByThree, "Concatenate(x, x) {axis=0}"),
              ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
}

TEST(Slice, TakesStepsInBothDirections) {
  EXPECT_THAT(ValuesOf(kTwoByThree, "Slice(x) {axis=[1], start=[1], end=[3], step=[1]}"),
              ElementsAre(2, 3, 5, 6));
  EXPECT_THAT(ValuesOf(kTwoByThree, "Slice(x) {axis=[1], start=[0], end=[3], step=[2]}"),
              ElementsAre(1, 3, 4, 6));
  EXPECT_THAT(
      ValuesOf(kTwoByThree, "Slice(x) {axis=[0, 1], start=[1, 2], end=[-1, -1], step=[-1, -2]}"),
      ElementsAre(6, 4, 3, 1));
}

TEST(Pad, FillsByEachMode) {
  EXPECT_THAT(ValuesOf(kTwoByThree, "Pad(x) {padding_list=[1, 0, 0, 2], constant=9}"),
              ElementsAre(9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9));
  EXPECT_THAT(ValuesOf(kTwoByThree, R"(Pad(x) {padding_list=[0, 2, 1, 1], pad_mode="reflect"})"),
              ElementsAre(3, 2, 1, 2, 3, 2, 6, 5, 4, 5, 6, 5, 3, 2, 1, 2, 3, 2));
  EXPECT_THAT(ValuesOf(kTwoByThree, R"(Pad(x) {padding_list=[0, 1, 1, 2], pad_mode="edge"})"),
              ElementsAre(1, 1, 2, 3, 3, 3, 4, 4, 5, 6, 6, 6, 4, 4, 5, 6, 6, 6));
}

TEST(Pad, CropsByNegativeAmounts) {
  EXPECT_THAT(ValuesOf(kTwoByThree, "Pad(x) {padding_list=[0, -1, 0, 1], constant=9}"),
              ElementsAre(2, 3, 9, 5, 6, 9));
  EXPECT_THAT(ValuesOf(kTwoByThree, "Pad(x) {padding_list=[-1, 1, 0, -2], constant=9}"),
              ElementsAre(9, 4));
}

TEST(Pad, FillsIntegers) {
  EXPECT_THAT(ValuesOf<int64_t>("x = InputConstant int64[1] [5]",
                                "Pad(x) {padding_list=[1, 1], constant=-3}"),
              ElementsAre(-3, 5, -3));
}

TEST(Expand, RepeatsAxesOfSizeOne) {
  EXPECT_THAT(ValuesOf("x = InputConstant float32[2x1] [1, 2]", "Expand(x) {shape=[2, 2, 3]}"),
              ElementsAre(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
}

TEST(Gather, TakesRowsByIndex) {
  const std::string i = absl::StrCat(kTwoByThree, "\ni = InputConstant int64[2] [-1, 0]");
  EXPECT_THAT(ValuesOf(i, "Gather(x, i) {axis=1}"), ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(ValuesOf(i, "Gather(x, i) {axis=0}"), ElementsAre(4, 5, 6, 1, 2, 3));
  EXPECT_THAT(ValuesOf(absl::StrCat(kTwoByThree, "\ni = InputConstant int32[scalar] [1]"),
                       "Gather(x, i) {axis=1}"),
              ElementsAre(2, 5));
}

TEST(Gather, RefusesAnIndexOutOfRange) {
  for (const char* index : {"3", "-4"}) {
    EXPECT_THAT(
        EvaluateText(absl::StrCat(kTwoByThree, "\ni = InputConstant int64[1] [", index, "]"),
                     "Gather(x, i) {axis=1}"),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is outside [-3, 3)")));
  }
}

TEST(Cast, ConvertsAndSaturates) {
  const char* x = "x = InputConstant float32[5] [1.9, -1.9, 300, -300, 0]";
  EXPECT_THAT(ValuesOf<int32_t>(x, R"(Cast(x) {dtype="int32"})"), ElementsAre(1, -1, 300, -300, 0));
  EXPECT_THAT(ValuesOf<uint8_t>(x, R"(Cast(x) {dtype="uint8"})"), ElementsAre(1, 0, 255, 0, 0));
  EXPECT_THAT(ValuesOf<bool>(x, R"(Cast(x) {dtype="bool"})"),
              ElementsAre(true, true, true, true, false));
  EXPECT_THAT(
      ValuesOf<double>("x = InputConstant int64[2] [3, -4]", R"(Cast(x) {dtype="float64"})"),
      ElementsAre(3.0, -4.0));
}

TEST(Cast, RoundsToHalfPrecisionAndBack) {
  EXPECT_THAT(
      ValuesOf("x = InputConstant float32[7] [1, -2.5, 65504, 1e6, 5.9604645e-8, 2049, 1e-9]\n"
               "h = Cast(x) {dtype=\"float16\"}",
               R"(Cast(h) {dtype="float32"})"),
      ElementsAre(1.0f, -2.5f, 65504.0f, INFINITY, 5.9604645e-8f, 2048.0f, 0.0f));
}

}  // namespace
}  // namespace qb
