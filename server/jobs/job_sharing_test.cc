// Jobs that share one execution, and results that answer later jobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "server/testing/store_forms.h"

namespace qb::server {
namespace {

class JobSharingTest : public testing::StoreFormsFixture {
 protected:
  // A job for the work `action`.
  NewJob Wanted(const std::string& action, pb::JobSpec spec = Spec()) {
    NewJob job = MakeJob("", "f", std::move(spec));
    job.action = action;
    return job;
  }

  std::string SubmitWork(const std::string& action, pb::JobSpec spec = Spec()) {
    const auto outcome = store_->Submit(Wanted(action, std::move(spec)));
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->job.id() : "";
  }

  static pb::JobSpec WithPolicy(pb::CachePolicy policy) {
    pb::JobSpec spec = Spec();
    spec.set_cache_policy(policy);
    return spec;
  }

  pb::Job Cancel(const std::string& id) {
    const auto outcome = store_->RequestCancel("default", id, "not needed", clock_.WallMs());
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->job : pb::Job();
  }
};

TEST_P(JobSharingTest, EqualWorkRunsOnceForAll) {
  const std::string first = SubmitWork("a");
  const std::string second = SubmitWork("a");
  const auto leased = Lease(10);
  ASSERT_EQ(leased.size(), 1u);
  const std::string third = SubmitWork("a");
  EXPECT_EQ(Get(third).state(), pb::JOB_STATE_RUNNING);
  EXPECT_TRUE(Get(third).joined());
  EXPECT_FALSE(Get(first).joined());
  QB_ASSERT_OK(store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  for (const std::string& id : {first, second, third}) {
    EXPECT_EQ(Get(id).state(), pb::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(Get(id).artifacts(0).sha256(), Sha256Hex("result"));
    ExpectSoundHistory(id);
  }
  EXPECT_TRUE(Lease(10).empty());
}

TEST_P(JobSharingTest, ConcurrentEqualSubmitsGiveOneExecution) {
  std::vector<std::thread> threads;
  std::vector<NewJob> jobs;
  jobs.reserve(50);
  threads.reserve(50);
  for (int i = 0; i < 50; ++i) {
    jobs.push_back(Wanted("a"));
  }
  for (const NewJob& job : jobs) {
    threads.emplace_back([&] { QB_EXPECT_OK(store_->Submit(job)); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(Lease(100).size(), 1u);
}

TEST_P(JobSharingTest, CancelOfOneLeavesTheOthersAlone) {
  const std::string first = SubmitWork("a");
  const std::string second = SubmitWork("a");
  const auto leased = Lease(1);
  EXPECT_EQ(Cancel(first).state(), pb::JOB_STATE_CANCELLED);
  EXPECT_EQ(Get(first).failure().reason(), pb::FAILURE_REASON_CANCELLED);
  EXPECT_TRUE(Get(first).has_finish_time());
  EXPECT_EQ(Get(second).state(), pb::JOB_STATE_RUNNING);
  QB_ASSERT_OK_AND_ASSIGN(const auto lease, store_->ReadLease(leased[0].attempt.key));
  EXPECT_FALSE(lease.attempt.cancel_requested);
  EXPECT_EQ(lease.job_id, second);
  QB_ASSERT_OK(store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_EQ(Get(first).state(), pb::JOB_STATE_CANCELLED);
  EXPECT_EQ(Get(first).artifacts_size(), 0);
  EXPECT_EQ(Get(first).result_json(), "");
  EXPECT_EQ(Get(second).state(), pb::JOB_STATE_SUCCEEDED);
  ExpectSoundHistory(first);
  ExpectSoundHistory(second);
  Reopen();
  ExpectSoundHistory(first);
}

TEST_P(JobSharingTest, CancelOfTheLastOneCancelsTheWork) {
  const std::string first = SubmitWork("a");
  const std::string second = SubmitWork("a");
  const auto leased = Lease(1);
  Cancel(second);
  QB_ASSERT_OK_AND_ASSIGN(const CancelOutcome outcome,
                          store_->RequestCancel("default", first, "", clock_.WallMs()));
  ASSERT_TRUE(outcome.running.has_value());
  EXPECT_EQ(outcome.job.state(), pb::JOB_STATE_CANCELLING);
  // What is being cancelled is not joined.
  const std::string third = SubmitWork("a");
  EXPECT_EQ(Get(third).state(), pb::JOB_STATE_QUEUED);
  QB_ASSERT_OK(store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_CANCELLED)));
  EXPECT_EQ(Get(first).state(), pb::JOB_STATE_CANCELLED);
  EXPECT_EQ(Get(third).state(), pb::JOB_STATE_QUEUED);
  ExpectSoundHistory(first);
}

TEST_P(JobSharingTest, WatcherOfALeavingJobSeesItsEndAndNothingLater) {
  const std::string first = SubmitWork("a");
  SubmitWork("a");
  const auto leased = Lease(1);
  const size_t before = Events(first).size();
  Cancel(first);
  QB_ASSERT_OK(store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  const auto events = Events(first);
  ASSERT_EQ(events.size(), before + 1);
  EXPECT_EQ(events.back().error().state(), pb::JOB_STATE_CANCELLED);
  EXPECT_EQ(Events(first, static_cast<int64_t>(before)).size(), 1u);
  EXPECT_TRUE(Events(first, static_cast<int64_t>(before) + 1).empty());
  // The end fits only into a frame that has room.
  QB_ASSERT_OK_AND_ASSIGN(const JobPosition position, store_->FindJob("default", first));
  QB_ASSERT_OK_AND_ASSIGN(const auto cut,
                          store_->ReadEvents(position.job, 0, static_cast<int>(before), 1 << 20));
  EXPECT_FALSE(cut.back().has_error());
}

TEST_P(JobSharingTest, StoredResultAnswersAtOnce) {
  const std::string first = SubmitWork("a");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  clock_.AdvanceMs(5000);
  const std::string later = SubmitWork("a");
  const pb::Job job = Get(later);
  EXPECT_EQ(job.state(), pb::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(job.cache_hit());
  EXPECT_FALSE(Get(first).cache_hit());
  EXPECT_EQ(job.artifacts(0).sha256(), Sha256Hex("result"));
  EXPECT_EQ(job.finish_time().seconds(), job.create_time().seconds());
  ExpectSoundHistory(later);
  EXPECT_EQ(Cancel(later).state(), pb::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(Lease().empty());
}

TEST_P(JobSharingTest, FailuresAreNotKept) {
  SubmitWork("a");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_FAILED)));
  EXPECT_EQ(Get(SubmitWork("a")).state(), pb::JOB_STATE_QUEUED);
}

TEST_P(JobSharingTest, RefreshRunsAgainAndJoinsWhatRuns) {
  SubmitWork("a");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  const std::string fresh = SubmitWork("a", WithPolicy(pb::CACHE_POLICY_REFRESH));
  EXPECT_EQ(Get(fresh).state(), pb::JOB_STATE_QUEUED);
  EXPECT_TRUE(Get(SubmitWork("a", WithPolicy(pb::CACHE_POLICY_REFRESH))).joined());
  EXPECT_TRUE(Get(SubmitWork("a")).cache_hit());
}

TEST_P(JobSharingTest, BypassSharesNothing) {
  SubmitWork("a");
  const std::string alone = SubmitWork("a", WithPolicy(pb::CACHE_POLICY_BYPASS));
  EXPECT_FALSE(Get(alone).joined());
  const auto leased = Lease(10);
  ASSERT_EQ(leased.size(), 2u);
  for (const LeasedAttempt& lease : leased) {
    if (lease.job_id == alone) {
      QB_ASSERT_OK(store_->Complete(lease.attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
    }
  }
  EXPECT_TRUE(Get(SubmitWork("a")).joined());  // with the one that still runs
}

TEST_P(JobSharingTest, AnotherResultOfTheSameWorkIsToldAndTheFirstKept) {
  SubmitWork("a");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  const std::string again = SubmitWork("a", WithPolicy(pb::CACHE_POLICY_REFRESH));
  Completion completion = Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED);
  completion.artifacts = {StoreArtifact("another result")};
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, completion));
  const auto events = Events(again);
  EXPECT_THAT(events[events.size() - 2].log().message(),
              ::testing::StartsWith("nondeterministic_result"));
  EXPECT_EQ(Get(SubmitWork("a")).artifacts(0).sha256(), Sha256Hex("result"));
  ExpectSoundHistory(again);
}

TEST_P(JobSharingTest, OnlyAcceptedBuildsAreShared) {
  LeaseQuery query{.worker_id = "w", .epoch = "e", .compiler_build = "one", .count = 1};
  query.now_ms = clock_.WallMs();
  SubmitWork("a");
  QB_ASSERT_OK_AND_ASSIGN(const LeaseOutcome first, store_->Lease(query));
  NewJob for_two = Wanted("a");
  for_two.compiler_builds = {"two"};
  QB_ASSERT_OK_AND_ASSIGN(const SubmitOutcome second, store_->Submit(for_two));
  EXPECT_EQ(second.job.state(), pb::JOB_STATE_QUEUED);
  QB_ASSERT_OK(store_->Complete(first.leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  query.compiler_build = "two";
  QB_ASSERT_OK_AND_ASSIGN(const LeaseOutcome other, store_->Lease(query));
  ASSERT_EQ(other.leased.size(), 1u);
  QB_ASSERT_OK(store_->Complete(other.leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  for_two = Wanted("a");
  for_two.compiler_builds = {"two", "three"};
  QB_ASSERT_OK_AND_ASSIGN(const SubmitOutcome hit, store_->Submit(for_two));
  EXPECT_TRUE(hit.job.cache_hit());
  EXPECT_EQ(hit.job.compiler_build(), "two");
  NewJob for_three = Wanted("a");
  for_three.compiler_builds = {"three"};
  QB_ASSERT_OK_AND_ASSIGN(const SubmitOutcome miss, store_->Submit(for_three));
  EXPECT_FALSE(miss.job.cache_hit());
}

TEST_P(JobSharingTest, TenantsShareNothing) {
  AddTenant("other");
  SubmitWork("a");
  NewJob theirs = Wanted("a");
  theirs.tenant = "other";
  QB_ASSERT_OK_AND_ASSIGN(const SubmitOutcome outcome, store_->Submit(theirs));
  EXPECT_FALSE(outcome.job.joined());
  EXPECT_EQ(Lease(10).size(), 2u);
}

TEST_P(JobSharingTest, AnotherRunTimeoutIsNotJoined) {
  SubmitWork("a");
  pb::JobSpec patient = Spec();
  patient.mutable_run_timeout()->set_seconds(61);
  EXPECT_FALSE(Get(SubmitWork("a", patient)).joined());
}

TEST_P(JobSharingTest, PriorityIsThatOfTheMostUrgentJob) {
  SubmitWork("a");
  const std::string between = Submit(Spec("aries-rb", 5));
  const std::string urgent = SubmitWork("a", Spec("aries-rb", 10));
  auto leased = Lease(1);
  EXPECT_NE(leased[0].job_id, between);
  QB_ASSERT_OK(store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_RELEASED)));
  Cancel(urgent);
  EXPECT_EQ(Lease(1)[0].job_id, between);
}

TEST_P(JobSharingTest, EachJobWaitsAsLongAsItSaid) {
  pb::JobSpec impatient = Spec();
  impatient.mutable_queue_ttl()->set_seconds(10);
  const std::string first = SubmitWork("a", impatient);
  const std::string second = SubmitWork("a");
  clock_.AdvanceMs(10'001);
  QB_ASSERT_OK_AND_ASSIGN(const int expired, store_->ExpireQueued(clock_.WallMs()));
  EXPECT_EQ(expired, 1);
  EXPECT_EQ(Get(first).state(), pb::JOB_STATE_EXPIRED);
  EXPECT_EQ(Get(second).state(), pb::JOB_STATE_QUEUED);
  ExpectSoundHistory(first);
  EXPECT_EQ(Lease()[0].job_id, second);
}

TEST_P(JobSharingTest, GivenBackJobsOutliveTheirQueueTtl) {
  Submit();
  const AttemptKey key = Lease()[0].attempt.key;
  QB_ASSERT_OK(store_->Complete(key, Ended(pb::ATTEMPT_OUTCOME_RELEASED)));
  clock_.AdvanceMs(4000'000);
  QB_ASSERT_OK_AND_ASSIGN(const int expired, store_->ExpireQueued(clock_.WallMs()));
  EXPECT_EQ(expired, 0);
  EXPECT_EQ(Lease().size(), 1u);
}

TEST_P(JobSharingTest, QueueIsFullForJobsThatWaitNotForStoredResults) {
  store_options_.max_waiting_jobs = 2;
  Reopen();
  SubmitWork("a");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  Submit();
  Submit();
  EXPECT_EQ(store_->Submit(Wanted("b")).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Get(SubmitWork("a")).cache_hit());
}

TEST_P(JobSharingTest, ResultWithoutItsFilesIsMadeAgain) {
  SubmitWork("a");
  QB_ASSERT_OK(store_->Complete(Lease()[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  ForgetBlobs();
  EXPECT_EQ(Get(SubmitWork("a")).state(), pb::JOB_STATE_QUEUED);
}

QB_ON_EVERY_STORE(JobSharingTest);

}  // namespace
}  // namespace qb::server
