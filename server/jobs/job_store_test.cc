#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "server/testing/store_forms.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class JobStoreTest : public testing::StoreFormsFixture {};

TEST_P(JobStoreTest, SubmittedJobIsQueuedWithItsFirstEvent) {
  const std::string id = Submit();
  const pb::Job job = Get(id);
  EXPECT_EQ(job.state(), pb::JOB_STATE_QUEUED);
  EXPECT_EQ(job.spec().target_device(), "aries-rb");
  EXPECT_EQ(job.create_time().seconds(), clock_.WallMs() / 1000);
  const auto events = Events(id);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].seq(), 1);
  EXPECT_EQ(events[0].state().state(), pb::JOB_STATE_QUEUED);
}

TEST_P(JobStoreTest, RequestIdGivesTheSameJobOnce) {
  QB_ASSERT_OK_AND_ASSIGN(const SubmitOutcome first, store_->Submit(MakeJob("r", "f")));
  QB_ASSERT_OK_AND_ASSIGN(const SubmitOutcome again, store_->Submit(MakeJob("r", "f")));
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(first.job.id(), again.job.id());
  EXPECT_THAT(store_->Submit(MakeJob("r", "other")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("REQUEST_ID_REUSED")));
  QB_ASSERT_OK_AND_ASSIGN(const auto known, store_->FindRequest("default", "r", "f"));
  EXPECT_TRUE(known.has_value());
  QB_ASSERT_OK_AND_ASSIGN(const auto unknown, store_->FindRequest("default", "s", "f"));
  EXPECT_FALSE(unknown.has_value());
}

TEST_P(JobStoreTest, ConcurrentSubmitsOfOneRequestGiveOneJob) {
  std::vector<std::thread> threads;
  std::vector<std::string> ids(16);
  for (size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto outcome = store_->Submit(MakeJob("r", "f"));
      ids[i] = outcome.ok() ? outcome->job.id() : outcome.status().ToString();
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 1u);
  EXPECT_EQ(store_->ListJobs({.tenant = "default"})->jobs.size(), 1u);
}

TEST_P(JobStoreTest, LeasesByPriorityThenAge) {
  const std::string old_job = Submit();
  clock_.AdvanceMs(1);
  const std::string urgent = Submit(Spec("aries-rb", 10));
  clock_.AdvanceMs(1);
  const std::string young = Submit();
  const auto leased = Lease(3);
  ASSERT_EQ(leased.size(), 3u);
  EXPECT_EQ(leased[0].job_id, urgent);
  EXPECT_EQ(leased[1].job_id, old_job);
  EXPECT_EQ(leased[2].job_id, young);
  EXPECT_LT(leased[0].attempt.key.fence, leased[1].attempt.key.fence);
  EXPECT_TRUE(Lease().empty());
}

TEST_P(JobStoreTest, OrderOfTheQueueOutlivesARestart) {
  AddTenant("b");
  for (int i = 0; i < 5; ++i) {
    Submit();
  }
  NewJob theirs = MakeJob();
  theirs.tenant = "b";
  QB_ASSERT_OK(store_->Submit(theirs));
  Lease(1);
  Reopen();
  // One of the other tenant's runs, so it is this one's turn, although it came last.
  EXPECT_EQ(Lease(1).at(0).job_id, theirs.id);
}

TEST_P(JobStoreTest, LeasesWhatFitsTheWorker) {
  NewJob big = MakeJob();
  big.needs = {.cpus = 8, .memory_bytes = 100, .gpus = 2};
  big.prefers_gpu = true;
  QB_ASSERT_OK(store_->Submit(big));
  NewJob small = MakeJob();
  small.prefers_gpu = true;
  QB_ASSERT_OK(store_->Submit(small));
  LeaseQuery query{.worker_id = "w", .epoch = "e", .total = {4, 100, 1, 0}, .count = 5};
  query.now_ms = clock_.WallMs();
  QB_ASSERT_OK_AND_ASSIGN(const LeaseOutcome here, store_->Lease(query));
  ASSERT_EQ(here.leased.size(), 1u);
  EXPECT_EQ(here.leased[0].job_id, small.id);
  EXPECT_EQ(here.leased[0].gpus, 1);
  query.worker_id = "x";
  query.total = {8, 100, 2, 0};
  QB_ASSERT_OK_AND_ASSIGN(const LeaseOutcome there, store_->Lease(query));
  ASSERT_EQ(there.leased.size(), 1u);
  EXPECT_EQ(there.leased[0].gpus, 2);
  EXPECT_EQ(there.leased[0].attempt.run_timeout_ms, 60'000);
}

TEST_P(JobStoreTest, LeasesOnlyTargetsThatTheWorkerHas) {
  Submit(Spec("aries-rb"));
  const std::string wanted = Submit(Spec("regulus-ra"));
  LeaseQuery query{.worker_id = "w", .epoch = "e", .targets = {"regulus-ra"}, .count = 5};
  query.now_ms = clock_.WallMs();
  QB_ASSERT_OK_AND_ASSIGN(const LeaseOutcome outcome, store_->Lease(query));
  ASSERT_EQ(outcome.leased.size(), 1u);
  EXPECT_EQ(outcome.leased[0].job_id, wanted);
}

TEST_P(JobStoreTest, SuccessStoresArtifactsAndEndsTheEvents) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  QB_ASSERT_OK_AND_ASSIGN(const CompletionOutcome outcome,
                          store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_EQ(outcome.state, pb::JOB_STATE_SUCCEEDED);
  const pb::Job job = Get(id);
  ASSERT_EQ(job.artifacts_size(), 1);
  EXPECT_EQ(job.artifacts(0).sha256(), Sha256Hex("result"));
  EXPECT_EQ(job.result_json(), "{}");
  EXPECT_TRUE(Events(id).back().has_result());
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, SuccessWithoutItsBlobIsRefusedAndTheAttemptLives) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  Completion completion = Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED);
  completion.artifacts[0].set_sha256(Sha256Hex("never stored"));
  EXPECT_THAT(store_->Complete(key, completion),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("MISSING_BLOB")));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
  QB_EXPECT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
}

TEST_P(JobStoreTest, CompletingTwiceKeepsTheFirstAnswer) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  QB_ASSERT_OK_AND_ASSIGN(const CompletionOutcome again,
                          store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_FAILED)));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.state, pb::JOB_STATE_SUCCEEDED);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, FailureIsNeverTriedAgain) {
  const std::string id = Submit();
  Completion completion = Ended(pb::ATTEMPT_OUTCOME_FAILED);
  completion.failure.set_reason_name("MODEL_PARSE_ERROR");
  completion.failure.set_message("bytes 0..3: not a model");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, completion));
  clock_.AdvanceMs(1'000'000);
  EXPECT_TRUE(Lease().empty());
  const pb::Job job = Get(id);
  EXPECT_EQ(job.state(), pb::JOB_STATE_FAILED);
  EXPECT_EQ(job.failure().reason(), pb::FAILURE_REASON_MODEL_PARSE_ERROR);
  EXPECT_EQ(job.failure().message(), "bytes 0..3: not a model");
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, LostAttemptIsTriedAgainAfterItsWaitAndIsFencedOff) {
  const std::string id = Submit();
  const AttemptKey old_key = Lease()[0].attempt.key;
  QB_ASSERT_OK(store_->LoseAttempts({old_key}, "gone", clock_.WallMs()));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RETRY_WAIT);
  EXPECT_EQ(Get(id).wait_reason(), "gone");
  clock_.AdvanceMs(store_options_.retry.base_wait_ms);
  const auto leased = Lease();
  ASSERT_EQ(leased.size(), 1u);
  EXPECT_EQ(leased[0].attempt.key.attempt, 2);
  EXPECT_GT(leased[0].attempt.key.fence, old_key.fence);
  for (const auto outcome : {pb::ATTEMPT_OUTCOME_SUCCEEDED, pb::ATTEMPT_OUTCOME_FAILED}) {
    EXPECT_THAT(store_->Complete(old_key, Ended(outcome)),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("STALE_ATTEMPT")));
  }
  EXPECT_THAT(store_->AppendEvents(old_key, {}, clock_.WallMs()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("STALE_ATTEMPT")));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
  // Losing it once more changes nothing: the key is not the current one.
  QB_EXPECT_OK(store_->LoseAttempts({old_key}, "gone", clock_.WallMs()));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RUNNING);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, WaitOfARetryIsWithinItsBounds) {
  Submit();
  int64_t longest_ms = store_options_.retry.base_wait_ms;
  for (int loss = 1; loss <= store_options_.retry.max_losses; ++loss) {
    const AttemptKey key = Lease().at(0).attempt.key;
    QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_LOST)));
    LeaseQuery query{.worker_id = "w", .epoch = "e", .count = 1, .now_ms = clock_.WallMs() - 1};
    QB_ASSERT_OK_AND_ASSIGN(const LeaseOutcome early, store_->Lease(query));
    ASSERT_TRUE(early.leased.empty());
    ASSERT_TRUE(early.next_run_after_ms.has_value());
    EXPECT_GE(*early.next_run_after_ms, clock_.WallMs());
    EXPECT_LE(*early.next_run_after_ms, clock_.WallMs() + longest_ms);
    clock_.AdvanceMs(longest_ms);
    longest_ms *= 2;
  }
}

TEST_P(JobStoreTest, BudgetOfLossesEndsTheJob) {
  const std::string id = Submit();
  for (int i = 0; i <= store_options_.retry.max_losses; ++i) {
    EXPECT_FALSE(IsTerminal(Get(id).state())) << i;
    clock_.AdvanceMs(100'000);
    QB_ASSERT_OK(store_->Complete(Lease().at(0).attempt.key, Ended(pb::ATTEMPT_OUTCOME_LOST)));
  }
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_FAILED);
  EXPECT_EQ(Get(id).failure().reason(), pb::FAILURE_REASON_WORKER_LOST);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, JobUnderWhichWorkersDieIsSetAside) {
  const std::string id = Submit();
  for (int i = 1; i <= store_options_.retry.max_deaths; ++i) {
    EXPECT_FALSE(IsTerminal(Get(id).state())) << i;
    clock_.AdvanceMs(100'000);
    Reopen();
    QB_ASSERT_OK(store_->LoseAttempts({Lease().at(0).attempt.key}, "gone", clock_.WallMs()));
    // Losses of other kinds are another budget.
    if (i < store_options_.retry.max_deaths) {
      clock_.AdvanceMs(100'000);
      QB_ASSERT_OK(store_->Complete(Lease().at(0).attempt.key, Ended(pb::ATTEMPT_OUTCOME_LOST)));
    }
  }
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_FAILED);
  EXPECT_EQ(Get(id).failure().reason(), pb::FAILURE_REASON_POISON);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, GivenBackAttemptCostsNothing) {
  const std::string id = Submit();
  for (int i = 0; i < 20; ++i) {
    const auto leased = Lease();
    ASSERT_EQ(leased.size(), 1u) << i;
    QB_ASSERT_OK(store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_RELEASED)));
    EXPECT_EQ(Get(id).state(), pb::JOB_STATE_QUEUED);
  }
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, WaitingJobIsCancelledAtOnce) {
  const std::string id = Submit();
  QB_ASSERT_OK_AND_ASSIGN(const CancelOutcome outcome,
                          store_->RequestCancel("default", id, "typo", clock_.WallMs()));
  EXPECT_EQ(outcome.job.state(), pb::JOB_STATE_CANCELLED);
  EXPECT_FALSE(outcome.running.has_value());
  EXPECT_THAT(outcome.job.failure().message(), HasSubstr("typo"));
  EXPECT_TRUE(Lease().empty());
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, RunningJobIsCancelledByItsAgent) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  for (int i = 0; i < 2; ++i) {  // asking twice is asking once
    QB_ASSERT_OK_AND_ASSIGN(const CancelOutcome outcome,
                            store_->RequestCancel("default", id, "", clock_.WallMs()));
    EXPECT_EQ(outcome.job.state(), pb::JOB_STATE_CANCELLING);
    ASSERT_TRUE(outcome.running.has_value());
    EXPECT_EQ(outcome.running->key, key);
  }
  QB_ASSERT_OK_AND_ASSIGN(const EventsOutcome told, store_->AppendEvents(key, {}, 0));
  EXPECT_TRUE(told.cancel_requested);
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_CANCELLED)));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_CANCELLED);
  EXPECT_EQ(Get(id).failure().reason(), pb::FAILURE_REASON_CANCELLED);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, ResultThatWinsTheRaceWithCancelStands) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  QB_ASSERT_OK(store_->RequestCancel("default", id, "", clock_.WallMs()));
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_SUCCEEDED);
  QB_ASSERT_OK_AND_ASSIGN(const CancelOutcome late,
                          store_->RequestCancel("default", id, "", clock_.WallMs()));
  EXPECT_EQ(late.job.state(), pb::JOB_STATE_SUCCEEDED);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, AgentLostWhileCancellingEndsTheJob) {
  const std::string id = Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  QB_ASSERT_OK(store_->RequestCancel("default", id, "enough", clock_.WallMs()));
  QB_ASSERT_OK(store_->LoseAttempts({key}, "gone", clock_.WallMs()));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_CANCELLED);
  EXPECT_THAT(Get(id).failure().message(), HasSubstr("enough"));
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, InterruptedWithoutACancelIsALoss) {
  const std::string id = Submit();
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_CANCELLED)));
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_RETRY_WAIT);
}

TEST_P(JobStoreTest, QueuedJobExpires) {
  const std::string id = Submit();
  QB_ASSERT_OK_AND_ASSIGN(int expired, store_->ExpireQueued(clock_.WallMs()));
  EXPECT_EQ(expired, 0);
  clock_.AdvanceMs(3600'000);
  EXPECT_TRUE(Lease().empty());  // too late for it already
  QB_ASSERT_OK_AND_ASSIGN(expired, store_->ExpireQueued(clock_.WallMs()));
  EXPECT_EQ(expired, 1);
  EXPECT_EQ(Get(id).state(), pb::JOB_STATE_EXPIRED);
  EXPECT_EQ(Get(id).failure().reason(), pb::FAILURE_REASON_QUEUE_EXPIRED);
  ExpectSoundHistory(id);
}

TEST_P(JobStoreTest, RefusesMoreThanTheQueueHolds) {
  store_options_.max_waiting_jobs = 2;
  Reopen();
  Submit();
  Submit();
  EXPECT_THAT(store_->Submit(MakeJob()),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("2")));
  Lease();
  QB_EXPECT_OK(store_->Submit(MakeJob()));
}

TEST_P(JobStoreTest, ListsPagesNewestFirst) {
  std::vector<std::string> ids;
  ids.reserve(5);
  for (int i = 0; i < 5; ++i) {
    ids.push_back(Submit());
  }
  JobQuery query{.tenant = "default", .limit = 2};
  std::vector<std::string> seen;
  for (int page = 0; page < 3; ++page) {
    QB_ASSERT_OK_AND_ASSIGN(const JobPage found, store_->ListJobs(query));
    for (const pb::Job& job : found.jobs) {
      seen.push_back(job.id());
    }
    EXPECT_EQ(found.next_before_row == 0, page == 2);
    query.before_row = found.next_before_row;
  }
  EXPECT_EQ(seen, std::vector<std::string>(ids.rbegin(), ids.rend()));
}

TEST_P(JobStoreTest, ListsByStateTargetAndTenant) {
  Submit();
  const std::string other_target = Submit(Spec("regulus-ra"));
  Lease(1);
  QB_ASSERT_OK_AND_ASSIGN(
      const JobPage queued,
      store_->ListJobs({.tenant = "default", .states = {pb::JOB_STATE_QUEUED}}));
  ASSERT_EQ(queued.jobs.size(), 1u);
  EXPECT_EQ(queued.jobs[0].id(), other_target);
  QB_ASSERT_OK_AND_ASSIGN(
      const JobPage by_target,
      store_->ListJobs({.tenant = "default", .target_device = "regulus-ra' OR 1=1 --"}));
  EXPECT_TRUE(by_target.jobs.empty());
  QB_ASSERT_OK_AND_ASSIGN(const JobPage foreign, store_->ListJobs({.tenant = "somebody"}));
  EXPECT_TRUE(foreign.jobs.empty());
  EXPECT_EQ(store_->GetJob("somebody", other_target).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(JobStoreTest, KeepsEverythingOverARestart) {
  const std::string done = Submit();
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  const std::string running = Submit();
  const AttemptKey key = Lease(1, "w2", "e2")[0].attempt.key;
  Reopen();
  EXPECT_EQ(Get(done).state(), pb::JOB_STATE_SUCCEEDED);
  QB_ASSERT_OK_AND_ASSIGN(const auto live, store_->ListLiveAttempts());
  ASSERT_EQ(live.size(), 1u);
  EXPECT_EQ(live[0].key, key);
  EXPECT_EQ(live[0].worker_id, "w2");
  EXPECT_EQ(live[0].epoch, "e2");
  // Fences go on where they were: an old one can never come again.
  Submit();
  EXPECT_GT(Lease()[0].attempt.key.fence, key.fence);
  QB_EXPECT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  ExpectSoundHistory(running);
}

TEST_P(JobStoreTest, TellsTheListenerAfterTheCommit) {
  std::vector<CommitNotice> notices;
  store_->SetCommitListener([&](const CommitNotice& notice) { notices.push_back(notice); });
  Submit();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].executions.size(), 1u);
  EXPECT_TRUE(notices[0].leasable_from_ms.has_value());
  Lease();
  ASSERT_EQ(notices.size(), 2u);
  EXPECT_FALSE(notices[1].leasable_from_ms.has_value());
}

QB_ON_EVERY_STORE(JobStoreTest);

}  // namespace
}  // namespace qb::server
