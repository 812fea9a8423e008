#include "worker/agent/outbox.h"

#include "core/base/testing/status_matchers.h"

namespace qb::worker {
namespace {

using ::testing::HasSubstr;

v1::JobProgress Progress(const std::string& phase, double fraction) {
  v1::JobProgress progress;
  progress.set_phase(phase);
  progress.set_fraction(fraction);
  return progress;
}

TEST(Outbox, NumbersEventsAndKeepsThemUntilConfirmed) {
  Outbox outbox;
  outbox.AddPhase("a");
  outbox.AddLog(v1::LOG_SEVERITY_INFO, "l", "m");
  outbox.AddPhase("b");
  const std::vector<v1::AttemptEvent> batch = outbox.PeekEvents(2);
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].seq(), 1);
  EXPECT_EQ(batch[1].seq(), 2);
  EXPECT_EQ(outbox.PeekEvents(10).size(), 3u);
  outbox.ConfirmEvents(2);
  EXPECT_EQ(outbox.PeekEvents(10)[0].seq(), 3);
  EXPECT_FALSE(outbox.finished());
  outbox.ConfirmEvents(3);
  outbox.Close();
  EXPECT_TRUE(outbox.finished());
}

TEST(Outbox, NewerProgressReplacesWhatWasNotSent) {
  Outbox outbox;
  outbox.AddProgress(Progress("a", 0.1));
  outbox.AddProgress(Progress("a", 0.2));
  ASSERT_EQ(outbox.PeekEvents(10).size(), 1u);
  EXPECT_EQ(outbox.PeekEvents(10)[0].progress().fraction(), 0.2);
  // Seen by the sender: its content may be on its way and must not change under the same number.
  outbox.AddProgress(Progress("a", 0.3));
  ASSERT_EQ(outbox.PeekEvents(10).size(), 2u);
  EXPECT_EQ(outbox.PeekEvents(10)[0].progress().fraction(), 0.2);
  EXPECT_EQ(outbox.PeekEvents(10)[1].seq(), 2);
}

TEST(Outbox, ProgressNeverGoesBack) {
  Outbox outbox;
  outbox.AddProgress(Progress("a", 0.5));
  outbox.AddProgress(Progress("b", 0.1));
  EXPECT_EQ(outbox.PeekEvents(10)[1].progress().fraction(), 0.5);
}

TEST(Outbox, EventsHaveBudgets) {
  Outbox::Limits limits;
  limits.log_events = 3;
  limits.phase_events = 2;
  limits.progress_events = 4;
  Outbox outbox(limits);
  for (int i = 0; i < 100; ++i) {
    outbox.AddLog(v1::LOG_SEVERITY_INFO, "l", "m");
    outbox.AddPhase("p");
    outbox.AddProgress(Progress("a", 0.0001 * i));
    outbox.PeekEvents(1000);
  }
  const std::vector<v1::AttemptEvent> events = outbox.PeekEvents(1000);
  // 3 messages, the note that there are more, 2 phases, 4 steps and a few of 0.2 %.
  EXPECT_LE(events.size(), 4u + 2u + 4u + 5u);
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].seq(), static_cast<int64_t>(i) + 1);
  }
}

TEST(Outbox, KeepsTheStartAndTheEndOfALongLog) {
  Outbox::Limits limits;
  limits.log_head_bytes = 10;
  limits.log_tail_bytes = 5;
  Outbox outbox(limits);
  outbox.AddLogBytes("0123456");
  EXPECT_EQ(outbox.PeekLog(100).second, "0123456");
  outbox.ConfirmLog(7);
  for (char c = 'a'; c <= 'z'; ++c) {
    outbox.AddLogBytes(std::string(1, c));
  }
  EXPECT_EQ(outbox.PeekLog(100), std::make_pair(int64_t{7}, std::string("abc")));
  outbox.Close();
  const std::string rest = outbox.PeekLog(1000).second;
  EXPECT_THAT(rest, ::testing::StartsWith("abc\n[... 18 bytes"));
  EXPECT_THAT(rest, ::testing::EndsWith("vwxyz"));
}

TEST(Outbox, ConfirmsPartsOfTheLog) {
  Outbox outbox;
  outbox.AddLogBytes("0123456789");
  EXPECT_EQ(outbox.PeekLog(4).second, "0123");
  outbox.ConfirmLog(4);
  EXPECT_EQ(outbox.PeekLog(4), std::make_pair(int64_t{4}, std::string("4567")));
  outbox.ConfirmLog(2);  // an answer that comes late changes nothing
  EXPECT_EQ(outbox.PeekLog(2).first, 4);
  outbox.DropLog();
  outbox.AddLogBytes("more");
  outbox.Close();
  EXPECT_TRUE(outbox.finished());
}

}  // namespace
}  // namespace qb::worker
