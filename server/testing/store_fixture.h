// A store in a temporary folder, and what tests put into it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/base/uuid.h"
#include "server/jobs/sqlite_blob_index.h"
#include "server/jobs/sqlite_database.h"
#include "server/jobs/sqlite_job_store.h"
#include "server/testing/fake_clock.h"

namespace qb::server::testing {

// A base for tests of everything that needs a store. Reopen() is what a restart of the server does.
class StoreFixture : public ::testing::Test {
 protected:
  void SetUp() override { Open(); }

  virtual void Open() {
    auto database = SqliteDatabase::Open(folder_.File("qbc.db"), SqliteDatabaseOptions());
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
    index_ = std::make_unique<SqliteBlobIndex>(*database_);
    store_ = std::make_unique<SqliteJobStore>(*database_, store_options_);
  }

  virtual void Reopen() {
    store_.reset();
    index_.reset();
    database_.reset();
    Open();
  }

  static pb::JobSpec Spec(const std::string& target = "aries-rb", int priority = 0) {
    pb::JobSpec spec;
    spec.set_target_device(target);
    spec.set_priority(priority);
    spec.mutable_queue_ttl()->set_seconds(3600);
    spec.mutable_run_timeout()->set_seconds(60);
    return spec;
  }

  NewJob MakeJob(const std::string& request_id = "", const std::string& fingerprint = "f",
                 pb::JobSpec spec = Spec()) {
    NewJob job;
    job.tenant = "default";
    job.id = MakeUuidV7(clock_.WallMs());
    job.request_id = request_id;
    job.request_fingerprint = fingerprint;
    job.spec = std::move(spec);
    job.now_ms = clock_.WallMs();
    return job;
  }

  std::string Submit(pb::JobSpec spec = Spec()) {
    const auto outcome = store_->Submit(MakeJob("", "f", std::move(spec)));
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->job.id() : "";
  }

  std::vector<LeasedAttempt> Lease(int count = 1, const std::string& worker = "w",
                                   const std::string& epoch = "e") {
    LeaseQuery query;
    query.worker_id = worker;
    query.epoch = epoch;
    query.count = count;
    query.now_ms = clock_.WallMs();
    const auto outcome = store_->Lease(query);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->leased : std::vector<LeasedAttempt>();
  }

  // Makes a file known, as if the tenant had uploaded it.
  virtual void AddBlob(const pb::Artifact& artifact) {
    EXPECT_TRUE(index_
                    ->AddBlob({"default", "u", artifact.sha256(), artifact.size_bytes(), 0},
                              clock_.WallMs())
                    .ok());
  }

  pb::Artifact StoreArtifact(const std::string& bytes) {
    pb::Artifact artifact;
    artifact.set_name("model.mxq");
    artifact.set_sha256(Sha256Hex(bytes));
    artifact.set_size_bytes(static_cast<int64_t>(bytes.size()));
    AddBlob(artifact);
    return artifact;
  }

  Completion Ended(pb::AttemptOutcome outcome) {
    Completion completion;
    completion.outcome = outcome;
    completion.now_ms = clock_.WallMs();
    if (outcome == pb::ATTEMPT_OUTCOME_SUCCEEDED) {
      completion.artifacts = {StoreArtifact("result")};
      completion.result_json = "{}";
    }
    return completion;
  }

  pb::Job Get(const std::string& id) {
    const auto job = store_->GetJob("default", id);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : pb::Job();
  }

  std::vector<pb::JobEvent> Events(const std::string& id, int64_t after_seq = 0) {
    const auto position = store_->FindJob("default", id);
    EXPECT_TRUE(position.ok()) << position.status();
    const auto events = store_->ReadEvents(position->job, after_seq, 10'000, 1 << 30);
    EXPECT_TRUE(events.ok()) << events.status();
    return *events;
  }

  // What holds for every job at every moment.
  void ExpectSoundHistory(const std::string& id) {
    const pb::Job job = Get(id);
    const std::vector<pb::JobEvent> events = Events(id);
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(job.last_event_seq(), static_cast<int64_t>(events.size()));
    pb::JobState state = pb::JOB_STATE_UNSPECIFIED;
    for (size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].seq(), static_cast<int64_t>(i) + 1) << id;
      const bool terminal = events[i].has_result() || events[i].has_error();
      EXPECT_EQ(terminal, i + 1 == events.size() && IsTerminal(job.state()))
          << id << " event " << i;
      pb::JobState next = state;
      if (events[i].has_state()) {
        next = events[i].state().state();
      } else if (events[i].has_result()) {
        next = pb::JOB_STATE_SUCCEEDED;
      } else if (events[i].has_error()) {
        next = events[i].error().state();
      }
      EXPECT_TRUE(next == state || MayChange(state, next))
          << JobStateWord(state) << " -> " << JobStateWord(next);
      state = next;
    }
    EXPECT_EQ(state, job.state()) << id;
    EXPECT_EQ(job.artifacts_size() > 0, job.state() == pb::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(job.has_finish_time(), IsTerminal(job.state()));
  }

  qb::testing::TempDir folder_;
  FakeClock clock_;
  SqliteJobStoreOptions store_options_;
  std::unique_ptr<SqliteDatabase> database_;
  std::unique_ptr<SqliteBlobIndex> index_;
  std::unique_ptr<JobStore> store_;
};

}  // namespace qb::server::testing
