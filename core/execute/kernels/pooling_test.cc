#include <gmock/gmock.h>

#include "core/execute/testing/graph_value.h"
#include "core/execute/testing/naive_window.h"

namespace qb {
namespace {

using ::testing::ElementsAre;
using testing::Evaluated;
using testing::EvaluateText;
using ::testing::Lt;
using testing::ValuesOf;

constexpr const char* kGeometries[] = {
    "h_kernel=2, w_kernel=2, h_stride=2, w_stride=2",
    "h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, north_padding=1, south_padding=1, "
    "west_padding=1, east_padding=1",
    "h_kernel=3, w_kernel=2, h_stride=1, w_stride=3, north_padding=2, east_padding=1",
    "h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, is_ceil_mode=true",
    "h_kernel=3, w_kernel=3, h_stride=2, w_stride=2, is_ceil_mode=true, north_padding=1, "
    "south_padding=1, west_padding=1, east_padding=1",
    "h_kernel=2, w_kernel=2, h_stride=3, w_stride=3, is_ceil_mode=true",
    "h_kernel=3, w_kernel=3, h_dilation=2, w_dilation=2",
    "h_kernel=3, w_kernel=3, h_dilation=2, w_dilation=2, north_padding=2, south_padding=2, "
    "west_padding=2, east_padding=2, h_stride=2, w_stride=2",
    "h_kernel=8, w_kernel=10",
};

void ExpectNaive(const std::string& attributes, bool channel_last) {
  SCOPED_TRACE(attributes);
  absl::StatusOr<Evaluated> evaluated =
      EvaluateText(absl::StrCat("x = InputConstant float32[",
                                channel_last ? "2x8x10x17" : "2x17x8x10", "] random(5)"),
                   absl::StrCat("Pooling(x) {", attributes,
                                ", channel_last=", channel_last ? "true" : "false", "}"));
  ASSERT_TRUE(evaluated.ok()) << evaluated.status();
  const Node& node = evaluated->node("r");
  const std::vector<float> expected =
      testing::NaivePooling(node.attrs<PoolingAttrs>(), node.shape(), (*evaluated)["x"]);
  const auto values = (*evaluated)["r"].values<float>();
  EXPECT_THAT(testing::RelativeError({values.begin(), values.end()}, expected), Lt(1e-6));
}

TEST(Pooling, EqualsItsDefinition) {
  for (const char* geometry : kGeometries) {
    for (bool channel_last : {false, true}) {
      for (const char* type : {"pool_type=\"max\"", "pool_type=\"average\"",
                               "pool_type=\"average\", is_include_pad=true"}) {
        ExpectNaive(absl::StrCat(geometry, ", ", type), channel_last);
      }
    }
  }
}

TEST(Pooling, CeilModeNeverCountsCellsBeyondThePadding) {
  // Windows at 0, 2, 4 of [1 .. 5]; the last holds 5 and one cell that does not exist.
  EXPECT_THAT(ValuesOf("x = InputConstant float32[1x1x1x5] [1, 2, 3, 4, 5]",
                       R"(Pooling(x) {pool_type="average", h_kernel=1, w_kernel=2, w_stride=2,
                          is_ceil_mode=true, is_include_pad=true})"),
              ElementsAre(1.5f, 3.5f, 5.0f));
}

TEST(Pooling, MaximumIgnoresPaddingBelowZero) {
  EXPECT_THAT(ValuesOf("x = InputConstant float32[1x2x1x1] [-3, -5]",
                       R"(Pooling(x) {h_kernel=2, w_kernel=1, north_padding=1, south_padding=1,
                          channel_last=true})"),
              ElementsAre(-3.0f, -3.0f, -5.0f));
}

TEST(GlobalAveragePooling, IsTheMeanOfEachChannelInBothLayouts) {
  const char* x = "x = InputConstant float32[1x2x1x3] [1, 2, 3, 10, 20, 60]";
  EXPECT_THAT(ValuesOf(x, "GlobalAveragePooling(x)"), ElementsAre(2.0f, 30.0f));
  EXPECT_THAT(ValuesOf(x, "GlobalAveragePooling(x) {channel_last=true}"),
              ElementsAre(5.5f, 11.0f, 31.5f));
}

}  // namespace
}  // namespace qb
