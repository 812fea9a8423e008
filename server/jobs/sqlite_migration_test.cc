// Files of every earlier version of the schema open, and what is in them goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "server/jobs/sqlite_retention.h"
#include "server/jobs/sqlite_schema.h"
#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

class SqliteMigrationTest : public testing::StoreFixture,
                            public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    MakeOldFile();
    Open();
  }

  // Job n hangs on execution n: 1 waits, 2 runs on worker w, 3 has succeeded.
  void MakeOldFile() {
    const auto connection =
        SqliteConnection::Open(folder_.File("qbc.db"), SqliteConnection::Mode::kWriter);
    ASSERT_TRUE(connection.ok()) << connection.status();
    QB_ASSERT_OK(MigrateSchema(**connection, GetParam()));
    const std::map<int, int> states = {
        {1, pb::JOB_STATE_QUEUED}, {2, pb::JOB_STATE_RUNNING}, {3, pb::JOB_STATE_SUCCEEDED}};
    QB_ASSERT_OK((*connection)
                     ->Execute(absl::StrCat("INSERT INTO blob VALUES ('", std::string(64, 'a'),
                                            "', 5, 0), ('", std::string(64, 'b'), "', 7, 0)")));
    QB_ASSERT_OK((*connection)
                     ->Execute("INSERT INTO blob_ref(tenant, sha256) SELECT 'default', sha256 "
                               "FROM blob"));
    pb::JobSpec spec = Spec();
    spec.mutable_model()->add_entries()->set_sha256(std::string(64, 'a'));
    spec.add_calibration()->add_entries()->set_sha256(std::string(64, 'c'));  // gone since
    pb::JobEvent event;
    event.set_seq(1);
    event.mutable_state()->set_state(pb::JOB_STATE_QUEUED);
    for (const auto& [id, state] : states) {
      const int attempt = id == 1 ? 0 : 1;
      QB_ASSERT_OK((*connection)
                       ->PrepareOnce(absl::StrCat(
                           "INSERT INTO execution(id, tenant, state, priority, enqueued_ms, "
                           "run_after_ms, expires_ms, target, spec, resolved_config, attempt, "
                           "fence, last_seq) VALUES (",
                           id, ", 'default', ", state, ", 0, 1000, 0, ", clock_.WallMs() + 3600'000,
                           ", 'aries-rb', ?, '{}', ", attempt, ", ", attempt * id, ", 1)"))
                       .Blob(spec.SerializeAsString())
                       .Run());
      QB_ASSERT_OK(
          (*connection)
              ->Execute(absl::StrCat("INSERT INTO job(id, uid, tenant, execution, state, target, "
                                     "created_ms) VALUES (",
                                     id, ", 'job-", id, "', 'default', ", id, ", ", state,
                                     ", 'aries-rb', 1000)")));
      QB_ASSERT_OK((*connection)
                       ->PrepareOnce(absl::StrCat(
                           "INSERT INTO event(execution, seq, body) VALUES (", id, ", 1, ?)"))
                       .Blob(event.SerializeAsString())
                       .Run());
    }
    QB_ASSERT_OK((*connection)
                     ->Execute("INSERT INTO attempt(execution, attempt, fence, state, worker, "
                               "epoch, leased_ms) VALUES (2, 1, 2, 1, 'w', 'e', 1500);"
                               "UPDATE meta SET value = 4 WHERE key = 'next_fence';"
                               "UPDATE execution SET finished_ms = 2000 WHERE id = 3"));
  }
};

TEST_P(SqliteMigrationTest, JobsAreThereAndGoOn) {
  EXPECT_EQ(Get("job-1").state(), pb::JOB_STATE_QUEUED);
  EXPECT_EQ(Get("job-3").state(), pb::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Events("job-2").size(), 1u);
  QB_ASSERT_OK_AND_ASSIGN(const auto live, store_->ListLiveAttempts());
  ASSERT_EQ(live.size(), 1u);
  QB_ASSERT_OK(store_->Complete(live[0].key, Ended(pb::ATTEMPT_OUTCOME_SUCCEEDED)));
  EXPECT_EQ(Get("job-2").state(), pb::JOB_STATE_SUCCEEDED);
  const auto leased = Lease();
  ASSERT_EQ(leased.size(), 1u);
  EXPECT_EQ(leased[0].job_id, "job-1");
  EXPECT_EQ(leased[0].attempt.key.fence, 4);
  EXPECT_FALSE(Submit().empty());
}

TEST_P(SqliteMigrationTest, OldJobsAreCountedListedAndWatched) {
  QB_ASSERT_OK_AND_ASSIGN(const auto counts, store_->CountJobs("default"));
  const std::map<pb::JobState, int64_t> expected = {
      {pb::JOB_STATE_QUEUED, 1}, {pb::JOB_STATE_RUNNING, 1}, {pb::JOB_STATE_SUCCEEDED, 1}};
  EXPECT_EQ(counts, expected);
  JobQuery query{.tenant = "default"};
  EXPECT_EQ(store_->ListJobs(query)->jobs.size(), 3u);
  QB_ASSERT_OK_AND_ASSIGN(const ChangedJobs changed, store_->ReadChangedJobs(query, 0));
  EXPECT_EQ(changed.jobs.size(), 3u);
}

TEST_P(SqliteMigrationTest, OldWaitingJobsStillExpire) {
  clock_.AdvanceMs(3600'001);
  QB_ASSERT_OK_AND_ASSIGN(const int expired, store_->ExpireQueued(clock_.WallMs()));
  EXPECT_EQ(expired, 1);
  EXPECT_EQ(Get("job-1").state(), pb::JOB_STATE_EXPIRED);
}

TEST_P(SqliteMigrationTest, FilesOfOldJobsAreInUseAndOthersGetTheirTime) {
  const int64_t now_ms = absl::ToUnixMillis(absl::Now());
  QB_ASSERT_OK_AND_ASSIGN(const auto unused, index_->FindUnused(INT64_MAX, std::nullopt, 100));
  ASSERT_EQ(unused.size(), 1u);
  EXPECT_EQ(unused[0].sha256, std::string(64, 'b'));
  EXPECT_GT(unused[0].used_ms, now_ms - 3600'000);
  QB_ASSERT_OK_AND_ASSIGN(const TenantStorage storage, index_->ReadStorage("default"));
  EXPECT_EQ(storage.blob_bytes, 12);
  SqliteRetention retention(*database_);
  QB_ASSERT_OK_AND_ASSIGN(const int removed, retention.RemoveEndedJobs({}, INT64_MAX / 2, 100));
  EXPECT_EQ(removed, 1);  // job-3, which had ended at 2000
}

INSTANTIATE_TEST_SUITE_P(Versions, SqliteMigrationTest, ::testing::Values(1, 2, 3, 4, 5));

}  // namespace
}  // namespace qb::server
