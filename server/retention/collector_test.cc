#include "server/retention/collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "core/base/testing/status_matchers.h"
#include "server/jobs/sqlite_access_index.h"
#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

constexpr int64_t kDayMs = RetentionPolicy::kDayMs;

// A store with files, jobs that name them, and a collector on a clock of the test's own.
class CollectorTest : public testing::StoreFixture {
 protected:
  void Open() override {
    StoreFixture::Open();
    auto blobs = BlobStore::Create(folder_.path(), *index_, clock_, BlobStoreOptions());
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    blobs_ = *std::move(blobs);
    logs_ = std::make_unique<AttemptLogs>(folder_.File("logs"), AttemptLogOptions());
    retention_ = std::make_unique<SqliteRetention>(*database_);
    collector_ = std::make_unique<Collector>(
        CollectorParts{*retention_, *blobs_, *logs_, clock_, {}}, policy_, [] { return false; });
  }

  void TearDown() override {
    collector_.reset();
    retention_.reset();
    blobs_.reset();
  }

  void Store(const std::string& bytes) {
    const auto upload = blobs_->StartUpload(
        {"default", MakeUuidV7(), Sha256Hex(bytes), static_cast<int64_t>(bytes.size()), 0});
    ASSERT_TRUE(upload.ok()) << upload.status();
    QB_ASSERT_OK((*upload)->Append(bytes));
    QB_ASSERT_OK((*upload)->Finish().status());
  }

  static pb::JobSpec SpecWith(const std::string& model) {
    pb::JobSpec spec = Spec();
    pb::ManifestEntry* entry = spec.mutable_model()->add_entries();
    entry->set_path("net.onnx");
    entry->set_sha256(Sha256Hex(model));
    entry->set_size_bytes(static_cast<int64_t>(model.size()));
    return spec;
  }

  std::string SubmitWith(const std::string& model, const std::string& action = "") {
    NewJob job = MakeJob("", "f", SpecWith(model));
    job.action = action;
    const auto outcome = store_->Submit(job);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? outcome->job.id() : "";
  }

  AttemptKey LeaseOne() {
    const auto leased = Lease();
    EXPECT_EQ(leased.size(), 1u);
    return leased.at(0).attempt.key;
  }

  void Succeed(const std::string& result) {
    const AttemptKey key = LeaseOne();
    QB_ASSERT_OK(logs_->Append(key.execution, key.attempt, 0, "log"));
    Store(result);
    Completion completion;
    completion.outcome = pb::ATTEMPT_OUTCOME_SUCCEEDED;
    completion.now_ms = clock_.WallMs();
    pb::Artifact artifact;
    artifact.set_name("model.mxq");
    artifact.set_sha256(Sha256Hex(result));
    artifact.set_size_bytes(static_cast<int64_t>(result.size()));
    completion.artifacts = {artifact};
    QB_ASSERT_OK(store_->Complete(key, completion).status());
  }

  CollectedThings Collect() {
    const auto collected = collector_->RunOnce();
    EXPECT_TRUE(collected.ok()) << collected.status();
    return collected.value_or(CollectedThings());
  }

  bool HasJob(const std::string& id) { return store_->GetJob("default", id).ok(); }
  bool HasBlob(const std::string& bytes) { return blobs_->Open("default", Sha256Hex(bytes)).ok(); }

  int64_t Rows(const std::string& table) {
    int64_t rows = -1;
    EXPECT_TRUE(database_->readers()
                    .Run([&](SqliteConnection& db) -> absl::Status {
                      SqliteQuery query = db.PrepareOnce("SELECT count(*) FROM " + table);
                      EXPECT_TRUE(query.Step().value_or(false));
                      rows = query.IntAt(0);
                      return absl::OkStatus();
                    })
                    .ok());
    return rows;
  }

  RetentionPolicy policy_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<AttemptLogs> logs_;
  std::unique_ptr<SqliteRetention> retention_;
  std::unique_ptr<Collector> collector_;
};

TEST_F(CollectorTest, EndedJobGoesWithItsFilesInItsTurn) {
  Store("model");
  const std::string id = SubmitWith("model");
  Succeed("result");
  clock_.AdvanceMs(policy_.succeeded_ms - 1);
  EXPECT_EQ(Collect(), CollectedThings());
  clock_.AdvanceMs(1);
  CollectedThings collected = Collect();
  EXPECT_EQ(collected.jobs, 1);
  EXPECT_EQ(collected.logs, 1);
  EXPECT_EQ(collected.blobs, 0);  // they are unused only now
  EXPECT_FALSE(HasJob(id));
  EXPECT_TRUE(HasBlob("model"));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("logs/1")));
  clock_.AdvanceMs(policy_.unused_ms);
  EXPECT_EQ(Collect().blobs, 2);
  EXPECT_FALSE(HasBlob("model"));
  EXPECT_FALSE(HasBlob("result"));
  for (const char* table : {"job", "execution", "event", "attempt", "artifact", "blob", "blob_ref",
                            "file_set", "file_set_blob", "execution_files", "doomed"}) {
    EXPECT_EQ(Rows(table), 0) << table;
  }
}

TEST_F(CollectorTest, EachOutcomeHasATimeOfItsOwn) {
  const std::string cancelled = Submit();
  QB_ASSERT_OK(store_->RequestCancel("default", cancelled, "", clock_.WallMs()).status());
  const std::string failed = Submit();
  QB_ASSERT_OK(store_->Complete(LeaseOne(), Ended(pb::ATTEMPT_OUTCOME_FAILED)).status());
  clock_.AdvanceMs(7 * kDayMs);
  Collect();
  EXPECT_FALSE(HasJob(cancelled));
  EXPECT_TRUE(HasJob(failed));
  clock_.AdvanceMs(83 * kDayMs);
  Collect();
  EXPECT_FALSE(HasJob(failed));
}

TEST_F(CollectorTest, WaitingAndRunningJobsStayForEverWithTheirFiles) {
  Store("model");
  Store("other");
  const std::string running = SubmitWith("model");
  LeaseOne();
  const std::string waiting = SubmitWith("other");
  clock_.AdvanceMs(1000 * kDayMs);
  EXPECT_EQ(Collect(), CollectedThings());
  EXPECT_TRUE(HasJob(running));
  EXPECT_TRUE(HasJob(waiting));
  EXPECT_TRUE(HasBlob("model"));
  EXPECT_TRUE(HasBlob("other"));
}

TEST_F(CollectorTest, PinnedJobKeepsItsFilesUntilItIsUnpinned) {
  Store("model");
  const std::string id = SubmitWith("model");
  Succeed("result");
  SqliteAccessIndex access(*database_);
  QB_ASSERT_OK(access.SetPinned("default", id, true));
  clock_.AdvanceMs(1000 * kDayMs);
  EXPECT_EQ(Collect(), CollectedThings());
  EXPECT_TRUE(HasJob(id));
  EXPECT_TRUE(HasBlob("result"));
  QB_ASSERT_OK(access.SetPinned("default", id, false));
  EXPECT_EQ(Collect().jobs, 1);
}

TEST_F(CollectorTest, SharedWorkGoesWithItsLastJob) {
  Store("model");
  const std::string first = SubmitWith("model", "work");
  const std::string second = SubmitWith("model", "work");
  Succeed("result");
  SqliteAccessIndex access(*database_);
  QB_ASSERT_OK(access.SetPinned("default", second, true));
  clock_.AdvanceMs(1000 * kDayMs);
  Collect();
  EXPECT_FALSE(HasJob(first));
  ASSERT_TRUE(HasJob(second));
  EXPECT_EQ(Get(second).artifacts_size(), 1);
  EXPECT_FALSE(Events(second).empty());
  EXPECT_TRUE(HasBlob("result"));
  EXPECT_TRUE(HasBlob("model"));
}

TEST_F(CollectorTest, StoredResultAnswersUntilNobodyAskedForItsTime) {
  policy_.succeeded_ms = kDayMs;
  policy_.results_ms = 10 * kDayMs;
  Reopen();
  Store("model");
  SubmitWith("model", "work");
  Succeed("result");
  clock_.AdvanceMs(9 * kDayMs);
  EXPECT_EQ(Collect().jobs, 1);
  EXPECT_TRUE(HasBlob("result"));
  const std::string again = SubmitWith("model", "work");
  EXPECT_TRUE(Get(again).cache_hit());
  clock_.AdvanceMs(9 * kDayMs);
  Collect();
  EXPECT_TRUE(Get(SubmitWith("model", "work")).cache_hit());
  clock_.AdvanceMs(10 * kDayMs);
  EXPECT_EQ(Collect().results, 1);
  EXPECT_EQ(Rows("execution"), 0);
  EXPECT_FALSE(Get(SubmitWith("model", "work")).cache_hit());
}

TEST_F(CollectorTest, FileThatWasRemovedIsMissingForTheNextJob) {
  Store("model");
  clock_.AdvanceMs(policy_.unused_ms);
  EXPECT_EQ(Collect().blobs, 1);
  EXPECT_THAT(store_->Submit(MakeJob("", "f", SpecWith("model"))).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("MISSING_BLOB")));
  Store("model");
  SubmitWith("model");
}

TEST_F(CollectorTest, ResultThatALiveAttemptHasSentStaysUntilItIsReported) {
  Store("model");
  SubmitWith("model");
  const AttemptKey key = LeaseOne();
  Store("result");
  clock_.AdvanceMs(1000 * kDayMs);
  EXPECT_EQ(Collect().blobs, 0);
  Completion completion;
  completion.outcome = pb::ATTEMPT_OUTCOME_SUCCEEDED;
  completion.now_ms = clock_.WallMs();
  pb::Artifact artifact;
  artifact.set_name("model.mxq");
  artifact.set_sha256(Sha256Hex("result"));
  artifact.set_size_bytes(6);
  completion.artifacts = {artifact};
  QB_EXPECT_OK(store_->Complete(key, completion).status());
}

TEST_F(CollectorTest, NumbersOfWhatIsGoneAreNotGivenAgain) {
  Submit();
  EXPECT_EQ(LeaseOne().execution, 1);
  QB_ASSERT_OK(store_->Complete({1, 1, 1}, Ended(pb::ATTEMPT_OUTCOME_FAILED)).status());
  const auto position = store_->FindJob("default", Submit());
  QB_ASSERT_OK(position.status());
  QB_ASSERT_OK(store_->Complete(LeaseOne(), Ended(pb::ATTEMPT_OUTCOME_FAILED)).status());
  clock_.AdvanceMs(1000 * kDayMs);
  EXPECT_EQ(Collect().jobs, 2);
  Reopen();
  const auto next = store_->FindJob("default", Submit());
  QB_ASSERT_OK(next.status());
  EXPECT_EQ(next->job, 3);
  EXPECT_EQ(next->execution, 3);
}

TEST_F(CollectorTest, ManyJobsGoInOneRound) {
  for (int i = 0; i < 120; ++i) {
    QB_ASSERT_OK(store_->RequestCancel("default", Submit(), "", clock_.WallMs()).status());
  }
  clock_.AdvanceMs(policy_.cancelled_ms);
  EXPECT_EQ(Collect().jobs, 120);
  EXPECT_EQ(Rows("event"), 0);
}

TEST_F(CollectorTest, RoundEndsWhenTheServerDoes) {
  Submit();
  QB_ASSERT_OK(store_->Complete(LeaseOne(), Ended(pb::ATTEMPT_OUTCOME_FAILED)).status());
  clock_.AdvanceMs(1000 * kDayMs);
  Collector stopped({*retention_, *blobs_, *logs_, clock_, {}}, policy_, [] { return true; });
  QB_ASSERT_OK_AND_ASSIGN(const CollectedThings collected, stopped.RunOnce());
  EXPECT_EQ(collected, CollectedThings());
}

}  // namespace
}  // namespace qb::server
