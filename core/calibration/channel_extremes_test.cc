#include "core/calibration/channel_extremes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace qb {
namespace {

using ::testing::ElementsAre;

TEST(ChannelObserver, KeepsTheEndsOfEachChannelOfAllSamples) {
  ChannelObserver observer(2);
  observer.Observe({1.0f, -2.0f, 3.0f, 5.0f});
  observer.Observe({-4.0f, 0.5f});
  const ChannelExtremes extremes = observer.Result();
  EXPECT_THAT(extremes.min, ElementsAre(-4.0f, -2.0f));
  EXPECT_THAT(extremes.max, ElementsAre(3.0f, 5.0f));
}

TEST(ChannelObserver, CountsZeroAsSeen) {
  ChannelObserver observer(2);
  observer.Observe({7.0f, -1.0f});
  EXPECT_THAT(observer.Result().min, ElementsAre(0.0f, -1.0f));
  EXPECT_THAT(observer.Result().max, ElementsAre(7.0f, 0.0f));
}

}  // namespace
}  // namespace qb
