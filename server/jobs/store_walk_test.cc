// Random walks: whatever clients, agents, clocks and restarts do to the store, every job keeps a
// sound history and every fence is used once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

class StoreWalk : public testing::StoreFixture, public ::testing::WithParamInterface<int> {
 protected:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  // Stale keys stay in `keys_`: agents do report about attempts that they have lost.
  const AttemptKey& AnyKey() {
    return keys_[static_cast<size_t>(Draw(static_cast<int>(keys_.size())))];
  }

  void LeaseSome() {
    for (const LeasedAttempt& leased : Lease(1 + Draw(3))) {
      EXPECT_TRUE(fences_.insert(leased.attempt.key.fence).second);
      keys_.push_back(leased.attempt.key);
    }
  }

  void CompleteSome() {
    static constexpr pb::AttemptOutcome kOutcomes[] = {
        pb::ATTEMPT_OUTCOME_SUCCEEDED, pb::ATTEMPT_OUTCOME_FAILED, pb::ATTEMPT_OUTCOME_CANCELLED,
        pb::ATTEMPT_OUTCOME_LOST, pb::ATTEMPT_OUTCOME_RELEASED};
    const auto outcome = store_->Complete(AnyKey(), Ended(kOutcomes[Draw(5)]));
    EXPECT_TRUE(outcome.ok() || outcome.status().code() == absl::StatusCode::kFailedPrecondition)
        << outcome.status();
  }

  void SendEvents() {
    const AttemptKey key = AnyKey();
    int64_t& sent = sent_[key.fence];
    std::vector<pb::AttemptEvent> events;
    for (int64_t seq = std::max<int64_t>(1, sent - 1); seq <= sent + 2; ++seq) {
      pb::AttemptEvent event;
      event.set_seq(seq);
      event.mutable_phase()->set_phase("p");
      events.push_back(event);
    }
    const auto outcome = store_->AppendEvents(key, events, clock_.WallMs());
    if (outcome.ok()) {
      sent += 2;
      EXPECT_EQ(outcome->committed_seq, sent);
    } else {
      EXPECT_EQ(outcome.status().code(), absl::StatusCode::kFailedPrecondition);
    }
  }

  void Step() {
    switch (Draw(10)) {
      case 0:
      case 1:
        ids_.push_back(Submit(Spec("aries-rb", Draw(3))));
        break;
      case 2:
      case 3:
        LeaseSome();
        break;
      case 4:
        CompleteSome();
        break;
      case 5:
        QB_EXPECT_OK(store_->LoseAttempts({AnyKey(), AnyKey()}, "gone", clock_.WallMs()));
        break;
      case 6:
        QB_EXPECT_OK(store_->RequestCancel(
            "default", ids_[static_cast<size_t>(Draw(static_cast<int>(ids_.size())))], "",
            clock_.WallMs()));
        break;
      case 7:
        SendEvents();
        break;
      case 8:
        clock_.AdvanceMs(Draw(2000));
        clock_.JumpWallMs(Draw(100) - 50);
        break;
      default:
        if (Draw(10) == 0) {
          Reopen();
        }
    }
  }

  std::mt19937_64 random_{static_cast<uint64_t>(GetParam())};
  std::vector<std::string> ids_;
  std::vector<AttemptKey> keys_;
  std::set<int64_t> fences_;
  std::map<int64_t, int64_t> sent_;
};

TEST_P(StoreWalk, KeepsHistoriesSound) {
  ids_.push_back(Submit());
  LeaseSome();
  for (int step = 0; step < 400; ++step) {
    Step();
  }
  for (const std::string& id : ids_) {
    ExpectSoundHistory(id);
  }
  // Live attempts and running jobs are the same thing.
  QB_ASSERT_OK_AND_ASSIGN(const auto live, store_->ListLiveAttempts());
  QB_ASSERT_OK_AND_ASSIGN(
      const JobPage running,
      store_->ListJobs({.tenant = "default",
                        .states = {pb::JOB_STATE_RUNNING, pb::JOB_STATE_CANCELLING},
                        .limit = 10'000}));
  EXPECT_EQ(live.size(), running.jobs.size());
  // And every job can still be brought to its end.
  for (int round = 0; round < 100; ++round) {
    clock_.AdvanceMs(100'000);
    QB_ASSERT_OK_AND_ASSIGN(const auto attempts, store_->ListLiveAttempts());
    for (const LiveAttempt& attempt : attempts) {
      QB_EXPECT_OK(store_->Complete(attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
    }
    if (Lease(1000).empty()) {
      break;
    }
  }
  for (const std::string& id : ids_) {
    EXPECT_TRUE(IsTerminal(Get(id).state())) << id;
    ExpectSoundHistory(id);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreWalk, ::testing::Range(1, 9));

}  // namespace
}  // namespace qb::server
