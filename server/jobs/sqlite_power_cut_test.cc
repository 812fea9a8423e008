// Power cuts at random moments of a walk: everything that was answered is there afterwards, the
// file is sound, and the test itself is proved by disks that lie.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"

#include "core/base/atomic_file.h"
#include "core/base/status_macros.h"
#include "server/jobs/memory_job_store.h"
#include "server/testing/sqlite_recording_vfs.h"
#include "server/testing/store_fixture.h"
#include "server/testing/store_walk.h"

namespace qb::server {
namespace {

using testing::DiskRecord;
using testing::PowerCut;
using testing::StoreWalk;

// Power cuts of one walk; more come from the bench.
int CutsOfAWalk() {
  int cuts = 60;
  if (const char* text = std::getenv("QBC_POWER_CUTS"); text != nullptr) {
    EXPECT_TRUE(absl::SimpleAtoi(text, &cuts)) << text;
  }
  return cuts;
}

class PowerCutTest : public testing::StoreFixture, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kSteps = 50;

  struct Verdict {
    int lost = 0;     // power cuts after which something that was answered is missing
    int unsound = 0;  // after which the file cannot be used
  };

  void SetUp() override {}  // the walk opens the store

  // Moves pages out of the log all the time: power goes in the middle of that as well.
  void Open() override {
    SqliteDatabaseOptions options;
    options.writer.checkpoint_bytes = 64 << 10;
    options.writer.truncate_bytes = 192 << 10;
    auto database = SqliteDatabase::Open(folder_.File("qbc.db"), options);
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
    index_ = std::make_unique<SqliteBlobIndex>(*database_);
    store_ = std::make_unique<SqliteJobStore>(*database_, store_options_);
  }

  // Walks once, with the records of the disk and what was there to read after each step.
  void Walk() {
    testing::SqliteRecordingVfs disk;
    Open();
    for (int i = 0; i < testing::kWalkArtifacts; ++i) {
      AddBlob(testing::WalkArtifact(i));
    }
    StoreWalk walk(static_cast<uint64_t>(GetParam()));
    disk.Note();
    for (int step = 0; step < kSteps; ++step) {
      walks_.push_back(walk);
      snapshots_.push_back(walk.Snapshot(*store_));
      walk.Learn(walk.Next()(*store_));
      disk.Note();
    }
    walks_.push_back(walk);
    snapshots_.push_back(walk.Snapshot(*store_));
    records_ = disk.records();
    store_.reset();
    index_.reset();
    database_.reset();
  }

  Verdict CutPower(const PowerCut& cut, int cuts) {
    std::mt19937_64 random(static_cast<uint64_t>(GetParam()) * 1000);
    Verdict verdict;
    for (int i = 0; i < cuts; ++i) {
      const size_t at = random() % (records_.size() + 1);
      PowerCut how = cut;
      if (i % 3 < 2) {
        how.keep = i % 3;  // nothing or everything; otherwise a part
      }
      Check(testing::FilesAfterPowerCut(records_, at, how, random), at, verdict);
    }
    return verdict;
  }

 private:
  // Answers before the cut: each note is one, and the first is that of opening.
  int Answered(size_t at) const {
    int notes = 0;
    for (size_t i = 0; i < at; ++i) {
      notes += records_[i].kind == DiskRecord::Kind::kNote ? 1 : 0;
    }
    return notes - 1;
  }

  void Check(const std::map<std::string, std::string>& files, size_t at, Verdict& verdict) {
    const int answered = Answered(at);
    qb::testing::TempDir folder;
    for (const auto& [name, bytes] : files) {
      QB_ASSERT_OK(WriteFileAtomically(folder.File(name), bytes));
    }
    SqliteDatabaseOptions options;
    options.readers = 1;
    auto database = SqliteDatabase::Open(folder.File("qbc.db"), options);
    if (!database.ok() || !IsSound(**database)) {
      ++verdict.unsound;
      return;
    }
    if (answered < 0) {
      return;  // nothing had been promised
    }
    SqliteJobStore store(**database, SqliteJobStoreOptions());
    const size_t step = static_cast<size_t>(answered);
    // The call that was under way has either happened or not.
    const bool as_before = walks_[step].Snapshot(store) == snapshots_[step];
    const bool as_after =
        answered < kSteps && walks_[step + 1].Snapshot(store) == snapshots_[step + 1];
    verdict.lost += as_before || as_after ? 0 : 1;
  }

  static bool IsSound(SqliteDatabase& database) {
    bool sound = false;
    const absl::Status status = database.readers().Run([&](SqliteConnection& db) -> absl::Status {
      SqliteQuery query = db.PrepareOnce("PRAGMA integrity_check");
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      sound = row && query.TextAt(0) == "ok";
      return absl::OkStatus();
    });
    return status.ok() && sound;
  }

  std::vector<StoreWalk> walks_;
  std::vector<std::string> snapshots_;
  std::vector<DiskRecord> records_;
};

TEST_P(PowerCutTest, LosesNothingThatWasAnswered) {
  Walk();
  const Verdict verdict = CutPower(PowerCut(), CutsOfAWalk());
  EXPECT_EQ(verdict.lost, 0);
  EXPECT_EQ(verdict.unsound, 0);
}

// As if commits were not synced (synchronous=NORMAL): a test that finds nothing then finds nothing
// ever.
TEST_P(PowerCutTest, FindsALogThatIsNotSynced) {
  Walk();
  EXPECT_GT(CutPower(PowerCut{.ignored_syncs = "-wal"}, 30).lost, 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PowerCutTest, ::testing::Range(1, 6));

}  // namespace
}  // namespace qb::server
