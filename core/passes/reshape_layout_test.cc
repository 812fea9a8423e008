#include "core/passes/reshape_layout.h"

#include <gmock/gmock.h>

namespace qb {
namespace {

using ::testing::ElementsAre;

TEST(PlanReshape, SourceOrderStays) {
  const ReshapeLayout plan = PlanReshape({2, 3, 4}, {0, 1, 2}, {6, 4});
  EXPECT_THAT(plan.operand, ElementsAre(0, 1, 2));
  EXPECT_THAT(plan.result, ElementsAre(0, 1));
}

// [1, C, H, W] -> [1, g, C / g, H, W] in place: the channels are split where they are, at the end.
TEST(PlanReshape, SplitsChannelsInPlace) {
  const ReshapeLayout plan = PlanReshape({1, 8, 5, 6}, ChannelLastOrder(), {1, 2, 4, 5, 6});
  EXPECT_EQ(plan.operand, ChannelLastOrder());
  EXPECT_THAT(plan.result, ElementsAre(0, 3, 4, 1, 2));
}

// Back again after the groups were swapped: only g and C / g must change places.
TEST(PlanReshape, JoinsSwappedGroups) {
  // Source [1, 4, 2, 5, 6] is stored as [1, 5, 6, 2, 4].
  const ReshapeLayout plan = PlanReshape({1, 4, 2, 5, 6}, {0, 4, 3, 1, 2}, {1, 8, 5, 6});
  EXPECT_THAT(plan.operand, ElementsAre(0, 3, 4, 1, 2));
  EXPECT_EQ(plan.result, ChannelLastOrder());
}

TEST(PlanReshape, FlatteningNeedsTheSourceOrder) {
  const ReshapeLayout plan = PlanReshape({1, 8, 5, 6}, ChannelLastOrder(), {1, 240});
  EXPECT_EQ(plan.operand, SourceOrder(4));
  EXPECT_EQ(plan.result, SourceOrder(2));
}

TEST(PlanReshape, FlatteningOnePixelNeedsNothing) {
  const ReshapeLayout plan = PlanReshape({1, 8, 1, 1}, ChannelLastOrder(), {1, 8});
  EXPECT_EQ(plan.operand, ChannelLastOrder());
  EXPECT_EQ(plan.result, SourceOrder(2));
}

// [1, C, H, W] -> [1, C, H W]: the pixels are neighbours also when the channels are last.
TEST(PlanReshape, JoinsPixelsInPlace) {
  const ReshapeLayout plan = PlanReshape({1, 8, 5, 6}, ChannelLastOrder(), {1, 8, 30});
  EXPECT_EQ(plan.operand, ChannelLastOrder());
  EXPECT_THAT(plan.result, ElementsAre(0, 2, 1));
}

TEST(PlanReshape, ImagesBecomeImages) {
  const ReshapeLayout plan = PlanReshape({1, 8, 6, 6}, ChannelLastOrder(), {1, 8, 4, 9});
  EXPECT_EQ(plan.operand, ChannelLastOrder());
  EXPECT_EQ(plan.result, ChannelLastOrder());
}

TEST(PlanReshape, ScalarsAndEmptyTensors) {
  EXPECT_TRUE(PlanReshape({1, 1}, {1, 0}, Shape()).result.empty());
  EXPECT_EQ(PlanReshape({0, 3}, {1, 0}, {3, 0}).operand, SourceOrder(2));
}

}  // namespace
}  // namespace qb
