#include "server/jobs/event_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace qb::server {
namespace {

using qbc::v1::AttemptEvent;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

AttemptEvent Progress(double fraction) {
  AttemptEvent event;
  event.mutable_progress()->set_fraction(fraction);
  return event;
}

AttemptEvent Phase(const char* name) {
  AttemptEvent event;
  event.mutable_phase()->set_phase(name);
  return event;
}

AttemptEvent Log(const char* text) {
  AttemptEvent event;
  event.mutable_log()->set_message(text);
  return event;
}

TEST(EventFilter, KeepsTheLastOfConsecutiveProgressEvents) {
  EventTally tally;
  const std::vector<AttemptEvent> events = {Progress(0.1), Progress(0.2), Log("a"), Progress(0.3),
                                            Phase("b")};
  EXPECT_THAT(SelectEvents(events, 10'000, {}, tally), ElementsAre(1, 2, 4));
  EXPECT_EQ(tally.stored, 3);
  EXPECT_EQ(tally.last_progress_ms, 10'000);
}

TEST(EventFilter, SpacesProgressInTime) {
  EventTally tally;
  EXPECT_THAT(SelectEvents({Progress(0.1)}, 10'000, {}, tally), ElementsAre(0));
  EXPECT_THAT(SelectEvents({Progress(0.2)}, 10'249, {}, tally), IsEmpty());
  EXPECT_THAT(SelectEvents({Progress(0.3)}, 10'250, {}, tally), ElementsAre(0));
  EXPECT_THAT(SelectEvents({Progress(1.0)}, 10'251, {}, tally), ElementsAre(0));
}

TEST(EventFilter, GoesOnAfterTheClockWentBack) {
  EventTally tally;
  EXPECT_THAT(SelectEvents({Progress(0.1)}, 10'000, {}, tally), ElementsAre(0));
  EXPECT_THAT(SelectEvents({Progress(0.2)}, 5'000, {}, tally), ElementsAre(0));
}

TEST(EventFilter, StopsAtTheLimitButKeepsPhasesLonger) {
  EventTally tally;
  EventLimits limits;
  limits.max_events_per_attempt = 2;
  const std::vector<AttemptEvent> events = {Log("1"),   Log("2"),   Log("3"),  Progress(1.0),
                                            Phase("4"), Phase("5"), Phase("6")};
  EXPECT_THAT(SelectEvents(events, 10'000, limits, tally), ElementsAre(0, 1, 4, 5));
}

TEST(EventFilter, DropsWhatHasNoKind) {
  EventTally tally;
  EXPECT_THAT(SelectEvents({AttemptEvent()}, 1, {}, tally), IsEmpty());
}

}  // namespace
}  // namespace qb::server
