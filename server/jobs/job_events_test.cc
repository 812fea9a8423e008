#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "server/testing/store_forms.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class EventsTest : public testing::StoreFormsFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    id_ = Submit();
    key_ = Lease()[0].attempt.key;
  }

  static pb::AttemptEvent Phase(int64_t seq, const std::string& name) {
    pb::AttemptEvent event;
    event.set_seq(seq);
    event.mutable_phase()->set_phase(name);
    return event;
  }
  static pb::AttemptEvent Progress(int64_t seq, double fraction) {
    pb::AttemptEvent event;
    event.set_seq(seq);
    event.mutable_progress()->set_fraction(fraction);
    return event;
  }

  std::string id_;
  AttemptKey key_;
};

TEST_P(EventsTest, SendingAgainStoresNothingTwice) {
  QB_ASSERT_OK_AND_ASSIGN(EventsOutcome outcome,
                          store_->AppendEvents(key_, {Phase(1, "a"), Phase(2, "b")}, 1));
  EXPECT_EQ(outcome.committed_seq, 2);
  QB_ASSERT_OK_AND_ASSIGN(outcome, store_->AppendEvents(key_, {Phase(1, "a"), Phase(2, "b")}, 2));
  EXPECT_EQ(outcome.committed_seq, 2);
  QB_ASSERT_OK_AND_ASSIGN(outcome, store_->AppendEvents(key_, {Phase(2, "b"), Phase(3, "c")}, 3));
  EXPECT_EQ(outcome.committed_seq, 3);
  const auto events = Events(id_, 2);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].phase().phase(), "a");
  EXPECT_EQ(events[2].phase().phase(), "c");
  EXPECT_EQ(events[2].attempt(), 1);
  ExpectSoundHistory(id_);
}

TEST_P(EventsTest, GapIsRefusedAndStoresNothing) {
  QB_ASSERT_OK(store_->AppendEvents(key_, {Phase(1, "a")}, 1));
  EXPECT_THAT(store_->AppendEvents(key_, {Phase(3, "c")}, 1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("expected 2")));
  EXPECT_THAT(store_->AppendEvents(key_, {Phase(2, "b"), Phase(2, "b")}, 1),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("expected 3")));
  EXPECT_EQ(Events(id_).size(), 3u);  // QUEUED, RUNNING, a
}

TEST_P(EventsTest, DroppedProgressStillCountsAsStored) {
  const int64_t now = clock_.WallMs();
  QB_ASSERT_OK(store_->AppendEvents(key_, {Progress(1, 0.1)}, now));
  QB_ASSERT_OK_AND_ASSIGN(const EventsOutcome outcome,
                          store_->AppendEvents(key_, {Progress(2, 0.2)}, now + 1));
  EXPECT_EQ(outcome.committed_seq, 2);
  EXPECT_EQ(Events(id_).size(), 3u);
  // The job shows the latest progress, whether or not it became an event.
  EXPECT_DOUBLE_EQ(Get(id_).progress().fraction(), 0.2);
}

TEST_P(EventsTest, FractionNeverGoesBackAndStaysInRange) {
  const int64_t now = clock_.WallMs();
  QB_ASSERT_OK(store_->AppendEvents(key_, {Phase(1, "a"), Progress(2, 0.5)}, now));
  QB_ASSERT_OK(store_->AppendEvents(key_, {Progress(3, 0.4)}, now + 1000));
  EXPECT_DOUBLE_EQ(Get(id_).progress().fraction(), 0.5);
  EXPECT_EQ(Get(id_).progress().phase(), "a");
  QB_ASSERT_OK(store_->AppendEvents(key_, {Progress(4, std::numeric_limits<double>::quiet_NaN())},
                                    now + 2000));
  EXPECT_DOUBLE_EQ(Get(id_).progress().fraction(), 0.5);
  QB_ASSERT_OK(store_->AppendEvents(key_, {Progress(5, 1e9)}, now + 3000));
  EXPECT_DOUBLE_EQ(Get(id_).progress().fraction(), 1.0);
}

TEST_P(EventsTest, NextAttemptNumbersItsEventsFromOneAndTheJobGoesOn) {
  QB_ASSERT_OK(store_->AppendEvents(key_, {Phase(1, "a"), Progress(2, 0.7)}, clock_.WallMs()));
  QB_ASSERT_OK(store_->LoseAttempts({key_}, "gone", clock_.WallMs()));
  clock_.AdvanceMs(10'000);
  const AttemptKey next = Lease().at(0).attempt.key;
  EXPECT_DOUBLE_EQ(Get(id_).progress().fraction(), 0.0);
  QB_ASSERT_OK(store_->AppendEvents(next, {Phase(1, "a")}, clock_.WallMs()));
  EXPECT_EQ(Events(id_).back().attempt(), 2);
  ExpectSoundHistory(id_);
}

TEST_P(EventsTest, ReadsInPieces) {
  std::vector<pb::AttemptEvent> events;
  for (int64_t seq = 1; seq <= 20; ++seq) {
    events.push_back(Phase(seq, std::string(200, 'p')));
  }
  QB_ASSERT_OK(store_->AppendEvents(key_, events, 1));
  QB_ASSERT_OK_AND_ASSIGN(const JobPosition position, store_->FindJob("default", id_));
  QB_ASSERT_OK_AND_ASSIGN(auto piece, store_->ReadEvents(position.execution, 2, 5, 1 << 20));
  ASSERT_EQ(piece.size(), 5u);
  EXPECT_EQ(piece[0].seq(), 3);
  QB_ASSERT_OK_AND_ASSIGN(piece, store_->ReadEvents(position.execution, 2, 100, 500));
  EXPECT_EQ(piece.size(), 3u);
  QB_ASSERT_OK_AND_ASSIGN(piece, store_->ReadEvents(position.execution, 2, 100, 1));
  EXPECT_EQ(piece.size(), 1u);
  QB_ASSERT_OK_AND_ASSIGN(piece, store_->ReadEvents(position.execution, 22, 100, 1 << 20));
  EXPECT_TRUE(piece.empty());
}

QB_ON_EVERY_STORE(EventsTest);

}  // namespace
}  // namespace qb::server
