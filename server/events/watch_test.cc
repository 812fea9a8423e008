#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "server/events/watch_hub.h"
#include "server/events/watch_stream.h"
#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

TEST(WatchHub, WakesOnlyWhoWatchesTheExecution) {
  testing::FakeClock clock;
  WatchHub hub(clock, 15'000);
  int first = 0;
  int second = 0;
  const int64_t ticket = hub.Subscribe(1, [&] { ++first; });
  hub.Subscribe(2, [&] { ++second; });
  hub.Notify({1, 3});
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 0);
  hub.Unsubscribe(ticket);
  hub.Unsubscribe(ticket);
  hub.Notify({1, 2});
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST(WatchHub, WakesIdleOnesToShowALifeSign) {
  testing::FakeClock clock;
  WatchHub hub(clock, 15'000);
  int woken = 0;
  hub.Subscribe(1, [&] { ++woken; });
  clock.AdvanceMs(14'999);
  hub.Tick();
  EXPECT_EQ(woken, 0);
  clock.AdvanceMs(1);
  hub.Tick();
  hub.Tick();
  EXPECT_EQ(woken, 1);
}

TEST(WatchHub, ClosingWakesEverybody) {
  testing::FakeClock clock;
  WatchHub hub(clock, 15'000);
  int woken = 0;
  hub.Subscribe(1, [&] { ++woken; });
  EXPECT_FALSE(hub.closing());
  hub.Close();
  EXPECT_TRUE(hub.closing());
  EXPECT_EQ(woken, 1);
}

class WatchStreamTest : public testing::StoreFixture {
 protected:
  std::unique_ptr<WatchStream> Watch(const std::string& id, int64_t after_seq) {
    const auto position = store_->FindJob("default", id);
    EXPECT_TRUE(position.ok()) << position.status();
    return std::make_unique<WatchStream>(WatchParts{*store_, hub_, clock_}, limits_, *position,
                                         after_seq);
  }

  // The seqs of all frames up to the first wait or the end; -1 stands for a wait.
  static std::vector<int64_t> Drain(WatchStream& stream) {
    std::vector<int64_t> seqs;
    for (int i = 0; i < 1000; ++i) {
      pb::WatchJobResponse frame;
      const auto step = stream.Next(frame);
      EXPECT_TRUE(step.ok()) << step.status();
      if (!step.ok() || *step == StreamStep::kEnd) {
        return seqs;
      }
      if (*step == StreamStep::kWait) {
        seqs.push_back(-1);
        return seqs;
      }
      for (const pb::JobEvent& event : frame.events()) {
        seqs.push_back(event.seq());
      }
    }
    ADD_FAILURE() << "the stream never ends";
    return seqs;
  }

  WatchHub hub_{clock_, 15'000};
  WatchLimits limits_;
};

TEST_F(WatchStreamTest, SendsOldEventsThenNewOnesThenEnds) {
  const std::string id = Submit();
  const auto stream = Watch(id, 0);
  EXPECT_THAT(Drain(*stream), ::testing::ElementsAre(1, -1));
  const AttemptKey key = Lease()[0].attempt.key;
  EXPECT_THAT(Drain(*stream), ::testing::ElementsAre(2, -1));
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_THAT(Drain(*stream), ::testing::ElementsAre(3));
}

TEST_F(WatchStreamTest, GoesOnAfterASeq) {
  const std::string id = Submit();
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_THAT(Drain(*Watch(id, 1)), ::testing::ElementsAre(2, 3));
  EXPECT_THAT(Drain(*Watch(id, 3)), ::testing::IsEmpty());
}

TEST_F(WatchStreamTest, KeepsFramesSmall) {
  limits_.max_events_per_frame = 4;
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  std::vector<pb::AttemptEvent> events;
  for (int64_t seq = 1; seq <= 20; ++seq) {
    events.emplace_back();
    events.back().set_seq(seq);
    events.back().mutable_phase()->set_phase("p");
  }
  QB_ASSERT_OK(store_->AppendEvents(key, events, clock_.WallMs()));
  const auto stream = Watch(id, 0);
  pb::WatchJobResponse frame;
  QB_ASSERT_OK(stream->Next(frame));
  EXPECT_EQ(frame.events_size(), 4);
  QB_ASSERT_OK(stream->Next(frame));
  EXPECT_EQ(frame.events_size(), 4);
  EXPECT_EQ(frame.events(0).seq(), 5);
}

TEST_F(WatchStreamTest, SendsALifeSignAfterALongSilence) {
  const std::string id = Submit();
  const auto stream = Watch(id, 1);
  EXPECT_THAT(Drain(*stream), ::testing::ElementsAre(-1));
  clock_.AdvanceMs(15'000);
  pb::WatchJobResponse frame;
  QB_ASSERT_OK_AND_ASSIGN(const StreamStep step, stream->Next(frame));
  EXPECT_EQ(step, StreamStep::kSend);
  EXPECT_EQ(frame.events_size(), 0);
  EXPECT_THAT(Drain(*stream), ::testing::ElementsAre(-1));
}

TEST_F(WatchStreamTest, EndsWithUnavailableWhenTheServerGoes) {
  const std::string id = Submit();
  const auto stream = Watch(id, 0);
  hub_.Close();
  pb::WatchJobResponse frame;
  QB_ASSERT_OK_AND_ASSIGN(const StreamStep step, stream->Next(frame));
  EXPECT_EQ(step, StreamStep::kSend);  // what is there still goes out
  EXPECT_EQ(stream->Next(frame).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace qb::server
