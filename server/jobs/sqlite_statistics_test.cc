#include "server/jobs/sqlite_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SqliteStatisticsTest : public testing::StoreFixture {
 protected:
  void Open() override {
    testing::StoreFixture::Open();
    statistics_ = std::make_unique<SqliteStatistics>(*database_);
  }
  void Reopen() override {
    statistics_.reset();
    testing::StoreFixture::Reopen();
  }

  StoreStatistics Read() {
    const auto read = statistics_->Read(clock_.WallMs());
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? *read : StoreStatistics();
  }

  // The jobs that ended after `revision`, and the revision to go on from.
  std::vector<FinishedJob> Finished(int64_t& revision) {
    std::vector<FinishedJob> jobs;
    const auto next = statistics_->ReadFinished(
        revision, [&jobs](const FinishedJob& job) { jobs.push_back(job); });
    EXPECT_TRUE(next.ok()) << next.status();
    revision = next.value_or(revision);
    return jobs;
  }

  // Work that waits for days.
  static pb::JobSpec Patient(int priority) {
    pb::JobSpec spec = Spec("aries-rb", priority);
    spec.mutable_queue_ttl()->set_seconds(1'000'000);
    return spec;
  }

  void SubmitFor(const std::string& tenant) {
    NewJob job = MakeJob();
    job.tenant = tenant;
    QB_ASSERT_OK(store_->Submit(job).status());
  }

  std::unique_ptr<SqliteStatistics> statistics_;
};

TEST_F(SqliteStatisticsTest, AnEmptyStoreHasNothing) {
  const StoreStatistics read = Read();
  for (const auto& [state, count] : read.jobs) {
    EXPECT_EQ(count, 0) << state;
  }
  EXPECT_THAT(read.waiting, ElementsAre(0, 0, 0));
  EXPECT_FALSE(read.oldest_queued_ms.has_value());
  QB_ASSERT_OK_AND_ASSIGN(const BlobStatistics blobs, statistics_->ReadBlobs());
  EXPECT_EQ(blobs.blobs, 0);
  EXPECT_EQ(blobs.bytes, 0);
  QB_ASSERT_OK_AND_ASSIGN(const auto gpus, statistics_->ReadGpus());
  EXPECT_THAT(gpus, IsEmpty());
  int64_t revision = 0;
  EXPECT_THAT(Finished(revision), IsEmpty());
}

TEST_F(SqliteStatisticsTest, CountsJobsOfAllTenantsByState) {
  SubmitFor("default");
  SubmitFor("other");
  SubmitFor("other");
  const auto leased = Lease(2);
  ASSERT_THAT(leased, SizeIs(2));
  QB_ASSERT_OK(
      store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)).status());
  StoreStatistics read = Read();
  EXPECT_EQ(read.jobs[pb::JOB_STATE_QUEUED], 1);
  EXPECT_EQ(read.jobs[pb::JOB_STATE_RUNNING], 1);
  EXPECT_EQ(read.jobs[pb::JOB_STATE_SUCCEEDED], 1);
  Reopen();
  EXPECT_EQ(Read().jobs, read.jobs);
}

TEST_F(SqliteStatisticsTest, WaitingWorkIsByBandOfItsPriorityWithItsAge) {
  const int64_t first_ms = clock_.WallMs();
  Submit(Patient(34));
  Submit(Patient(33));
  clock_.AdvanceMs(10);
  Submit(Patient(-33));
  Submit(Patient(-34));
  StoreStatistics read = Read();
  EXPECT_THAT(read.waiting, ElementsAre(1, 2, 1));
  EXPECT_EQ(read.oldest_queued_ms, first_ms);
  // A point a minute: 33 becomes high, -34 becomes normal.
  clock_.AdvanceMs(60'000);
  EXPECT_THAT(Read().waiting, ElementsAre(2, 2, 0));
  // At most 50 points: -34 never becomes high.
  clock_.AdvanceMs(int64_t{200} * 60'000);
  EXPECT_THAT(Read().waiting, ElementsAre(2, 2, 0));
  // What runs does not wait.
  ASSERT_THAT(Lease(4), SizeIs(4));
  read = Read();
  EXPECT_THAT(read.waiting, ElementsAre(0, 0, 0));
  EXPECT_FALSE(read.oldest_queued_ms.has_value());
}

TEST_F(SqliteStatisticsTest, WorkThatWaitsForARetryIsNotTheOldestInTheQueue) {
  Submit();
  const auto leased = Lease();
  ASSERT_THAT(leased, SizeIs(1));
  QB_ASSERT_OK(store_->LoseAttempts({leased[0].attempt.key}, "silent", clock_.WallMs()));
  const StoreStatistics read = Read();
  EXPECT_THAT(read.waiting, ElementsAre(0, 1, 0));
  EXPECT_FALSE(read.oldest_queued_ms.has_value());
}

TEST_F(SqliteStatisticsTest, SumsFiles) {
  StoreArtifact("12345");
  StoreArtifact("1234567");
  StoreArtifact("12345");  // the same again
  QB_ASSERT_OK_AND_ASSIGN(const BlobStatistics blobs, statistics_->ReadBlobs());
  EXPECT_EQ(blobs.blobs, 2);
  EXPECT_EQ(blobs.bytes, 12);
}

TEST_F(SqliteStatisticsTest, GpusAreThoseOfTheWorkers) {
  pb::WorkerCapabilities with;
  with.add_gpus();
  with.add_gpus();
  QB_ASSERT_OK(store_->RegisterWorker("gpu-box", "e", with, clock_.WallMs()));
  QB_ASSERT_OK(store_->RegisterWorker("cpu-box", "e", pb::WorkerCapabilities(), clock_.WallMs()));
  QB_ASSERT_OK_AND_ASSIGN(const auto gpus, statistics_->ReadGpus());
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(gpus.begin()->first, "gpu-box");
  EXPECT_EQ(gpus.begin()->second.gpus, 2);
  EXPECT_EQ(gpus.begin()->second.busy, 0);
}

TEST_F(SqliteStatisticsTest, FinishedJobsAreToldOnceWithTheirTimes) {
  Submit();
  Submit();
  clock_.AdvanceMs(700);
  const auto leased = Lease(2);
  ASSERT_THAT(leased, SizeIs(2));
  clock_.AdvanceMs(40);
  QB_ASSERT_OK(
      store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)).status());
  int64_t revision = 0;
  std::vector<FinishedJob> jobs = Finished(revision);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].state, pb::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(jobs[0].queued_ms, 700);
  EXPECT_EQ(jobs[0].run_ms, 40);
  EXPECT_FALSE(jobs[0].cache_hit);
  EXPECT_THAT(Finished(revision), IsEmpty());
  QB_ASSERT_OK_AND_ASSIGN(const int64_t last, statistics_->ReadRevision());
  EXPECT_EQ(revision, last);
  Completion failed = Ended(pb::ATTEMPT_OUTCOME_FAILED);
  failed.failure.set_reason(pb::FAILURE_REASON_CONFIG_ERROR);
  QB_ASSERT_OK(store_->Complete(leased[1].attempt.key, failed).status());
  jobs = Finished(revision);
  ASSERT_THAT(jobs, SizeIs(1));
  EXPECT_EQ(jobs[0].state, pb::JOB_STATE_FAILED);
  EXPECT_EQ(jobs[0].reason, pb::FAILURE_REASON_CONFIG_ERROR);
}

TEST_F(SqliteStatisticsTest, StoredResultsAndJobsThatNeverRanHaveNoRunTime) {
  NewJob wanted = MakeJob();
  wanted.action = "work";
  QB_ASSERT_OK(store_->Submit(wanted).status());
  const auto leased = Lease();
  ASSERT_THAT(leased, SizeIs(1));
  QB_ASSERT_OK(
      store_->Complete(leased[0].attempt.key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)).status());
  int64_t revision = 0;
  ASSERT_THAT(Finished(revision), SizeIs(1));
  clock_.AdvanceMs(5);
  NewJob again = MakeJob();
  again.action = "work";
  QB_ASSERT_OK(store_->Submit(again).status());
  const std::string waiting = Submit();
  clock_.AdvanceMs(30);
  QB_ASSERT_OK(
      store_->RequestCancel("default", waiting, "changed my mind", clock_.WallMs()).status());
  std::vector<FinishedJob> jobs = Finished(revision);
  ASSERT_THAT(jobs, SizeIs(2));
  std::sort(jobs.begin(), jobs.end(),
            [](const FinishedJob& a, const FinishedJob& b) { return a.cache_hit > b.cache_hit; });
  EXPECT_TRUE(jobs[0].cache_hit);
  EXPECT_EQ(jobs[0].state, pb::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(jobs[0].run_ms.has_value());
  EXPECT_EQ(jobs[1].state, pb::JOB_STATE_CANCELLED);
  EXPECT_FALSE(jobs[1].run_ms.has_value());
  EXPECT_EQ(jobs[1].queued_ms, 30);
}

}  // namespace
}  // namespace qb::server
