// Random operations on a store, its files and its collector, compared with a model after each round
// of collection: nothing that is referred to goes, and when all is over nothing is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/testing/status_matchers.h"
#include "server/jobs/sqlite_access_index.h"
#include "server/retention/collector.h"
#include "server/testing/retention_model.h"
#include "server/testing/store_fixture.h"

namespace qb::server {
namespace {

using testing::ModelJob;
using testing::ModelWork;

constexpr int kFiles = 14;
constexpr int kActions = 5;
constexpr int kMinuteMs = 60'000;
constexpr int kHourMs = 60 * kMinuteMs;

std::string Content(int file) { return absl::StrCat("the bytes of file ", file); }
std::string Digest(int file) { return Sha256Hex(Content(file)); }

// An upload that is open while other things happen.
struct OpenUpload {
  std::string tenant;
  int file = 0;
  std::unique_ptr<BlobUpload> upload;
};

class RetentionWalk : public testing::StoreFixture {
 protected:
  void Open() override {
    StoreFixture::Open();
    auto blobs = BlobStore::Create(folder_.path(), *index_, clock_, BlobStoreOptions());
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    blobs_ = *std::move(blobs);
    logs_ = std::make_unique<AttemptLogs>(folder_.File("logs"), AttemptLogOptions());
    retention_ = std::make_unique<SqliteRetention>(*database_);
    access_ = std::make_unique<SqliteAccessIndex>(*database_);
    model_.policy.succeeded_ms = int64_t{3} * kHourMs;
    model_.policy.failed_ms = int64_t{5} * kHourMs;
    model_.policy.cancelled_ms = kHourMs;
    model_.policy.results_ms = int64_t{4} * kHourMs;
    model_.policy.unused_ms = kHourMs / 2;
    collector_ =
        std::make_unique<Collector>(CollectorParts{*retention_, *blobs_, *logs_, clock_, {}},
                                    model_.policy, [] { return false; });
  }

  void TearDown() override {
    open_.upload.reset();
    collector_.reset();
    blobs_.reset();
  }

  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  std::string AnyTenant() { return Draw(3) == 0 ? "other" : "default"; }
  template <typename Map>
  typename Map::iterator Any(Map& map) {
    return std::next(map.begin(), Draw(static_cast<int>(map.size())));
  }

  // ---- files

  std::unique_ptr<BlobUpload> Begin(const std::string& tenant, const std::string& id, int file) {
    auto upload = blobs_->StartUpload(
        {tenant, id, Digest(file), static_cast<int64_t>(Content(file).size()), 0});
    EXPECT_TRUE(upload.ok()) << upload.status();
    return *std::move(upload);
  }

  // The upload has come to its end.
  void NoteStored(const std::string& tenant, int file, bool was_there) {
    if (was_there) {
      model_.Keep(tenant, file, clock_.WallMs());
    } else {
      model_.blobs[{tenant, file}] = clock_.WallMs();
    }
  }

  void Store(const std::string& tenant, int file) {
    const bool there = model_.blobs.contains({tenant, file});
    const auto upload = Begin(tenant, absl::StrCat("whole-", ++uploads_), file);
    EXPECT_EQ(upload->complete(), there) << tenant << " " << file;
    QB_ASSERT_OK(upload->Append(Content(file)));
    QB_ASSERT_OK(upload->Finish().status());
    NoteStored(tenant, file, there);
  }

  void StoreAny() { Store(AnyTenant(), Draw(kFiles)); }

  void StoreHalf() {
    const std::string tenant = AnyTenant();
    const int file = Draw(kFiles);
    const bool there = model_.blobs.contains({tenant, file});
    const std::string id = absl::StrCat("half-", ++uploads_);
    const auto upload = Begin(tenant, id, file);
    QB_ASSERT_OK(upload->Append(Content(file).substr(0, 5)));
    QB_ASSERT_OK(upload->Finish().status());
    if (there) {
      model_.Keep(tenant, file, clock_.WallMs());
    } else {
      model_.uploads[{tenant, id}] = clock_.WallMs();
    }
  }

  // One long upload that collections run beside.
  void MoveOpenUpload() {
    if (open_.upload == nullptr) {
      open_ = {AnyTenant(), Draw(kFiles), nullptr};
      if (model_.blobs.contains({open_.tenant, open_.file})) {
        return;
      }
      open_.upload = Begin(open_.tenant, absl::StrCat("open-", ++uploads_), open_.file);
      QB_ASSERT_OK(open_.upload->Append(Content(open_.file).substr(0, 3)));
      return;
    }
    QB_ASSERT_OK(open_.upload->Append(Content(open_.file).substr(3)));
    QB_ASSERT_OK(open_.upload->Finish().status());
    NoteStored(open_.tenant, open_.file, /*was_there=*/false);
    open_.upload.reset();
  }

  void KeepAny() {
    const std::string tenant = AnyTenant();
    const int file = Draw(kFiles);
    QB_ASSERT_OK_AND_ASSIGN(const auto sizes, blobs_->FindAndKeep(tenant, {Digest(file)}));
    EXPECT_EQ(sizes[0].has_value(), model_.blobs.contains({tenant, file}));
    model_.Keep(tenant, file, clock_.WallMs());
  }

  // ---- jobs

  static pb::JobSpec SpecOf(const std::set<int>& inputs) {
    pb::JobSpec spec = Spec();
    spec.mutable_queue_ttl()->set_seconds(100'000'000);
    bool first = true;
    pb::Manifest* calibration = inputs.size() > 1 ? spec.add_calibration() : nullptr;
    for (const int file : inputs) {
      pb::Manifest* manifest = first ? spec.mutable_model() : calibration;
      pb::ManifestEntry* entry = manifest->add_entries();
      entry->set_path(absl::StrCat("f", file));
      entry->set_sha256(Digest(file));
      entry->set_size_bytes(static_cast<int64_t>(Content(file).size()));
      first = false;
    }
    return spec;
  }

  // Which work under way `action` would join.
  const ModelWork* InFlight(const std::string& tenant, const std::string& action) const {
    for (const auto& [id, work] : model_.works) {
      if (work.tenant == tenant && work.action == action && !work.ended &&
          !cancelling_.contains(id)) {
        return &work;
      }
    }
    return nullptr;
  }

  void SubmitAny() {
    NewJob job = MakeJob();
    job.tenant = AnyTenant();
    std::set<int> inputs;
    if (Draw(2) == 0) {
      const int action = Draw(kActions);
      job.action = absl::StrCat("action ", action);
      inputs = {action, action + 1, (action * 5) % kFiles};  // of the action, as its digest says
    } else {
      while (inputs.empty() || Draw(2) == 0) {
        inputs.insert(Draw(kFiles));
      }
    }
    job.spec = SpecOf(inputs);
    const auto result = model_.results.find({job.tenant, job.action});
    const bool cached = !job.action.empty() && result != model_.results.end();
    const bool joins = !job.action.empty() && InFlight(job.tenant, job.action) != nullptr;
    const auto outcome = store_->Submit(job);
    if (!cached && !joins && !model_.HasAll(job.tenant, inputs)) {
      EXPECT_EQ(outcome.status().code(), absl::StatusCode::kFailedPrecondition) << outcome.status();
      return;
    }
    QB_ASSERT_OK(outcome.status());
    EXPECT_EQ(outcome->job.cache_hit(), cached);
    EXPECT_EQ(outcome->job.joined(), joins && !cached);
    NoteJob(job, inputs, cached);
  }

  void NoteJob(const NewJob& job, const std::set<int>& inputs, bool cached) {
    QB_ASSERT_OK_AND_ASSIGN(const JobPosition position, store_->FindJob(job.tenant, job.id));
    ModelJob& noted = model_.jobs[job.id];
    noted.tenant = job.tenant;
    noted.work = position.execution;
    if (cached) {
      auto& [work, used_ms] = model_.results.at({job.tenant, job.action});
      EXPECT_EQ(work, position.execution);
      used_ms = clock_.WallMs();
      noted.end = pb::JOB_STATE_SUCCEEDED;
      noted.ended_ms = clock_.WallMs();
    } else if (!model_.works.contains(position.execution)) {
      ModelWork& work = model_.works[position.execution];
      work.tenant = job.tenant;
      work.inputs = inputs;
      work.action = job.action;
    }
  }

  void LeaseAny() {
    for (const LeasedAttempt& leased : Lease(1 + Draw(2))) {
      ModelWork& work = model_.works.at(leased.attempt.key.execution);
      work.running = true;
      work.leased_ms = clock_.WallMs();
      work.key = leased.attempt.key;
      work.sent.reset();
      QB_ASSERT_OK(logs_->Append(work.key.execution, work.key.attempt, 0, "a line\n"));
    }
  }

  std::map<int64_t, ModelWork>::iterator AnyRunning() {
    std::vector<std::map<int64_t, ModelWork>::iterator> running;
    for (auto it = model_.works.begin(); it != model_.works.end(); ++it) {
      if (it->second.running) {
        running.push_back(it);
      }
    }
    return running.empty() ? model_.works.end()
                           : running[static_cast<size_t>(Draw(static_cast<int>(running.size())))];
  }

  // The worker stores its result; the report may come much later.
  void SendResult() {
    const auto found = AnyRunning();
    if (found != model_.works.end() && !found->second.sent.has_value()) {
      const int file = Draw(kFiles);
      Store(found->second.tenant, file);
      // A mark of the minute before the lease does not tell that it is this attempt's.
      if (model_.blobs.at({found->second.tenant, file}) >= found->second.leased_ms) {
        found->second.sent = file;
      }
    }
  }

  void Report(int64_t id, pb::AttemptOutcome outcome) {
    ModelWork& work = model_.works.at(id);
    Completion completion;
    completion.outcome = outcome;
    completion.now_ms = clock_.WallMs();
    if (outcome == pb::ATTEMPT_OUTCOME_SUCCEEDED) {
      pb::Artifact& artifact = completion.artifacts.emplace_back();
      artifact.set_name("model.mxq");
      artifact.set_sha256(Digest(*work.sent));
      artifact.set_size_bytes(static_cast<int64_t>(Content(*work.sent).size()));
    }
    QB_ASSERT_OK_AND_ASSIGN(const CompletionOutcome done, store_->Complete(work.key, completion));
    ASSERT_TRUE(IsTerminal(done.state)) << done.state;
    if (done.state == pb::JOB_STATE_SUCCEEDED) {
      work.result = work.sent;
    }
    model_.End(id, done.state, clock_.WallMs());
    cancelling_.erase(id);
  }

  void ReportAny() {
    const auto found = AnyRunning();
    if (found == model_.works.end()) {
      return;
    }
    if (found->second.sent.has_value()) {
      Report(found->first, pb::ATTEMPT_OUTCOME_SUCCEEDED);
    } else if (cancelling_.contains(found->first)) {
      Report(found->first, pb::ATTEMPT_OUTCOME_CANCELLED);
    } else if (Draw(3) == 0) {
      Report(found->first, pb::ATTEMPT_OUTCOME_FAILED);
    }
  }

  void Cancel(const std::string& id) {
    ModelJob& job = model_.jobs.at(id);
    QB_ASSERT_OK(store_->RequestCancel(job.tenant, id, "", clock_.WallMs()).status());
    if (job.end.has_value()) {
      return;
    }
    const int64_t attached = std::count_if(
        model_.jobs.begin(), model_.jobs.end(),
        [&](const auto& other) { return other.second.work == job.work && other.second.attached; });
    if (attached > 1) {
      job.attached = false;
      job.end = pb::JOB_STATE_CANCELLED;
      job.ended_ms = clock_.WallMs();
    } else if (model_.works.at(job.work).running) {
      cancelling_.insert(job.work);
    } else {
      model_.End(job.work, pb::JOB_STATE_CANCELLED, clock_.WallMs());
    }
  }

  void CancelAny() {
    if (!model_.jobs.empty()) {
      Cancel(Any(model_.jobs)->first);
    }
  }

  void PinAny() {
    if (!model_.jobs.empty()) {
      const auto found = Any(model_.jobs);
      found->second.pinned = !found->second.pinned;
      QB_ASSERT_OK(access_->SetPinned(found->second.tenant, found->first, found->second.pinned));
    }
  }

  void Restart() {
    open_.upload.reset();  // what was not noted is gone
    collector_.reset();
    blobs_.reset();
    Reopen();
  }

  // ---- the comparison

  int64_t FilesIn(const std::string& name) {
    int64_t count = 0;
    if (std::filesystem::exists(folder_.File(name))) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.File(name))) {
        count += entry.is_regular_file() ? 1 : 0;
      }
    }
    return count;
  }

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

  void CollectAndCompare() {
    QB_ASSERT_OK_AND_ASSIGN(const CollectedThings collected, collector_->RunOnce());
    EXPECT_EQ(collected.jobs, model_.Collect(clock_.WallMs()));
    ExpectFilesOfModel();
    for (const auto& [id, job] : model_.jobs) {
      const auto found = store_->GetJob(job.tenant, id);
      ASSERT_TRUE(found.ok()) << id << ": " << found.status();
      EXPECT_EQ(IsTerminal(found->state()), job.end.has_value());
      EXPECT_EQ(found->pinned(), job.pinned);
      EXPECT_FALSE(Events(job, id).empty());
    }
    EXPECT_EQ(Rows("job"), static_cast<int64_t>(model_.jobs.size()));
    EXPECT_EQ(Rows("execution"), static_cast<int64_t>(model_.works.size()));
    EXPECT_EQ(Rows("upload"), static_cast<int64_t>(model_.uploads.size()));
    EXPECT_EQ(Rows("doomed"), 0);
  }

  std::vector<pb::JobEvent> Events(const ModelJob& job, const std::string& id) {
    const auto position = store_->FindJob(job.tenant, id);
    EXPECT_TRUE(position.ok()) << position.status();
    return store_->ReadEvents(position->job, 0, 1000, 1 << 30)
        .value_or(std::vector<pb::JobEvent>());
  }

  void ExpectFilesOfModel() {
    for (const std::string& tenant : {std::string("default"), std::string("other")}) {
      for (int file = 0; file < kFiles; ++file) {
        const auto blob = blobs_->Open(tenant, Digest(file));
        ASSERT_EQ(blob.ok(), model_.blobs.contains({tenant, file}))
            << tenant << ", file " << file << ": " << blob.status();
        if (blob.ok()) {
          QB_ASSERT_OK_AND_ASSIGN(const std::string bytes, (*blob)->Read(0, 1000));
          EXPECT_EQ(bytes, Content(file));
        }
      }
    }
    EXPECT_EQ(FilesIn("blobs"), static_cast<int64_t>(model_.Files().size()));
  }

  void Step() {
    struct Choice {
      int weight;
      void (RetentionWalk::*run)();
    };
    static constexpr Choice kChoices[] = {
        {14, &RetentionWalk::StoreAny},         {2, &RetentionWalk::StoreHalf},
        {3, &RetentionWalk::KeepAny},           {3, &RetentionWalk::MoveOpenUpload},
        {16, &RetentionWalk::SubmitAny},        {10, &RetentionWalk::LeaseAny},
        {8, &RetentionWalk::SendResult},        {8, &RetentionWalk::ReportAny},
        {5, &RetentionWalk::CancelAny},         {3, &RetentionWalk::PinAny},
        {6, &RetentionWalk::CollectAndCompare}, {1, &RetentionWalk::Restart}};
    clock_.AdvanceMs(Draw(20) == 0 ? Draw(kHourMs) : Draw(4 * kMinuteMs));
    int drawn = Draw(79);
    for (const Choice& choice : kChoices) {
      drawn -= choice.weight;
      if (drawn < 0) {
        (this->*choice.run)();
        return;
      }
    }
  }

  // Ends everything.
  void Quiesce() {
    open_.upload.reset();
    for (const auto& [id, job] : model_.jobs) {
      Cancel(id);
    }
    for (auto found = AnyRunning(); found != model_.works.end(); found = AnyRunning()) {
      Report(found->first, pb::ATTEMPT_OUTCOME_CANCELLED);
    }
    clock_.AdvanceMs(int64_t{1000} * kHourMs);
    CollectAndCompare();  // pinned jobs and their files are there
    for (auto& [id, job] : model_.jobs) {
      job.pinned = false;
      QB_ASSERT_OK(access_->SetPinned(job.tenant, id, false));
    }
    for (int i = 0; i < 3; ++i) {
      clock_.AdvanceMs(int64_t{1000} * kHourMs);
      CollectAndCompare();
    }
  }

  std::mt19937_64 random_{20};
  testing::RetentionModel model_;
  std::set<int64_t> cancelling_;  // running works that are to end
  OpenUpload open_;
  int uploads_ = 0;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<AttemptLogs> logs_;
  std::unique_ptr<SqliteRetention> retention_;
  std::unique_ptr<SqliteAccessIndex> access_;
  std::unique_ptr<Collector> collector_;
};

TEST_F(RetentionWalk, KeepsWhatIsReferredToAndLeavesNothingInTheEnd) {
  const char* wanted = std::getenv("QBC_GC_OPERATIONS");
  const int operations = wanted == nullptr ? 1500 : std::atoi(wanted);
  ASSERT_GT(operations, 0);
  for (int i = 0; i < operations; ++i) {
    SCOPED_TRACE(absl::StrCat("operation ", i));
    Step();
    if (HasFailure()) {
      return;
    }
  }
  Quiesce();
  for (const char* table :
       {"job", "execution", "event", "attempt", "artifact", "result_cache", "blob", "blob_ref",
        "upload", "file_set", "file_set_blob", "execution_files", "job_share", "doomed"}) {
    EXPECT_EQ(Rows(table), 0) << table;
  }
  EXPECT_EQ(FilesIn("blobs") + FilesIn("uploads") + FilesIn("logs"), 0);
  QB_ASSERT_OK_AND_ASSIGN(const TenantStorage storage, index_->ReadStorage("default"));
  EXPECT_EQ(storage.blob_bytes, 0);
}

}  // namespace
}  // namespace qb::server
