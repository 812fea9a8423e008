// A backup of a server that runs is a data folder that another server goes on with.
#include "server/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <sstream>

#include "core/base/atomic_file.h"
#include "core/base/testing/status_matchers.h"
#include "server/backup_command.h"
#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

namespace fs = std::filesystem;
using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

class BackupTest : public ServerTest {
 protected:
  std::string Data() { return Options().data_dir; }
  std::string Copy() { return folder_.File("copy"); }

  // A job that has ended, with a result and a log.
  std::string Finished(const std::string& model, const std::string& result) {
    Store(model);
    pb::SubmitJobResponse response;
    EXPECT_TRUE(Submit(Spec(model), response).ok());
    const pb::SyncResponse work = Sync(1);
    EXPECT_EQ(work.assignments_size(), 1);
    grpc::ClientContext context;
    pb::PutLogRequest log;
    *log.mutable_key() = work.assignments(0).key();
    log.set_data("a line of " + model + "\n");
    pb::PutLogResponse stored;
    EXPECT_TRUE(workers_->PutLog(&context, log, &stored).ok());
    Store(result);
    EXPECT_TRUE(Complete(work.assignments(0).key(), result).ok());
    return response.job().id();
  }

  pb::Job Get(const std::string& id) {
    grpc::ClientContext context;
    pb::GetJobRequest request;
    request.set_job_id(id);
    pb::Job job;
    EXPECT_TRUE(jobs_->GetJob(&context, request, &job).ok());
    return job;
  }

  std::string Download(const std::string& bytes) {
    grpc::ClientContext context;
    pb::ReadBlobRequest request;
    request.set_sha256(Sha256Hex(bytes));
    auto reader = blobs_->ReadBlob(&context, request);
    pb::ReadBlobResponse frame;
    std::string data;
    while (reader->Read(&frame)) {
      data += frame.data();
    }
    EXPECT_TRUE(reader->Finish().ok());
    return data;
  }

  std::string LogOf(const std::string& id) {
    grpc::ClientContext context;
    pb::ReadLogRequest request;
    request.set_job_id(id);
    auto reader = jobs_->ReadLog(&context, request);
    pb::ReadLogResponse frame;
    std::string data;
    while (reader->Read(&frame)) {
      data += frame.data();
    }
    EXPECT_TRUE(reader->Finish().ok());
    return data;
  }

  void ServeCopy() {
    server_->Shutdown(absl::Milliseconds(100));
    server_.reset();
    fs::rename(Data(), folder_.File("lost"));
    fs::rename(Copy(), Data());
    Start();
  }
};

TEST_F(BackupTest, TheCopyOfARunningServerGoesOn) {
  const std::string done = Finished("first", "first result");
  const std::string waits = SubmitGood();
  QB_ASSERT_OK_AND_ASSIGN(const BackupFigures figures, BackUpDataFolder(Data(), Copy()));
  EXPECT_EQ(figures.blobs, 3);
  EXPECT_EQ(figures.copied_blobs, 3);
  EXPECT_EQ(figures.logs, 1);
  // What comes later is not in it.
  Store("later");
  ServeCopy();
  EXPECT_EQ(Get(done).state(), pb::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Download("first result"), "first result");
  EXPECT_EQ(LogOf(done), "a line of first\n");
  const pb::SyncResponse work = Sync(1);
  ASSERT_EQ(work.assignments_size(), 1);
  EXPECT_EQ(work.assignments(0).job_id(), waits);
}

TEST_F(BackupTest, FencesOfTheCopyAreBeyondThoseOfTheOriginal) {
  SubmitGood();
  QB_ASSERT_OK(BackUpDataFolder(Data(), Copy()).status());
  const int64_t original = Sync(1).assignments(0).key().fence();
  ServeCopy();
  EXPECT_GT(Sync(1).assignments(0).key().fence(), original + 1000);
}

TEST_F(BackupTest, ASecondBackupCopiesWhatIsNewAndDropsWhatIsGone) {
  Finished("first", "first result");
  QB_ASSERT_OK(BackUpDataFolder(Data(), Copy()).status());
  ASSERT_TRUE(WriteFileAtomically(Copy() + "/blobs/00/stray", "of an earlier backup").ok());
  const std::string second = Finished("second", "second result");
  QB_ASSERT_OK_AND_ASSIGN(const BackupFigures figures, BackUpDataFolder(Data(), Copy()));
  EXPECT_EQ(figures.blobs, 4);
  EXPECT_EQ(figures.copied_blobs, 2);
  EXPECT_FALSE(fs::exists(Copy() + "/blobs/00/stray"));
  ServeCopy();
  EXPECT_EQ(Get(second).state(), pb::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Download("second result"), "second result");
}

TEST_F(BackupTest, ADamagedFileIsToldAndTheEarlierBackupStays) {
  Finished("first", "first result");
  QB_ASSERT_OK(BackUpDataFolder(Data(), Copy()).status());
  Finished("second", "second result");
  const std::string digest = Sha256Hex("second result");
  const std::string blob = absl::StrCat(Data(), "/blobs/", digest.substr(0, 2), "/", digest);
  fs::permissions(blob, fs::perms::owner_all);
  ASSERT_TRUE(WriteFileAtomically(blob, "second rEsult").ok());
  EXPECT_THAT(BackUpDataFolder(Data(), Copy()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has other bytes")));
  fs::remove(blob);
  EXPECT_THAT(BackUpDataFolder(Data(), Copy()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(digest)));
  ServeCopy();
  EXPECT_EQ(Download("first result"), "first result");
}

TEST_F(BackupTest, OtherFoldersAreLeftAlone) {
  SubmitGood();
  EXPECT_THAT(BackUpDataFolder(Data(), Data()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("the data folder itself")));
  ASSERT_TRUE(WriteFileAtomically(folder_.File("photos/cat.jpg"), "meow").ok());
  EXPECT_THAT(BackUpDataFolder(Data(), folder_.File("photos")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("neither empty nor")));
  EXPECT_TRUE(fs::exists(folder_.File("photos/cat.jpg")));
}

TEST_F(BackupTest, TheCommandTellsWhatItCopied) {
  SubmitGood();
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunBackupCommand({"--data-dir", Data(), "--output", Copy()}, out, err), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("1 files, of which 1 were copied (5 bytes)"));
  struct stat info = {};
  ASSERT_EQ(stat((Copy() + "/qbc.db").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0077, 0u);
  EXPECT_EQ(RunBackupCommand({"--data-dir", Data()}, out, err), 2);
  EXPECT_EQ(RunBackupCommand({"--data-dir", folder_.File("none"), "--output", folder_.File("x")},
                             out, err),
            1);
}

}  // namespace
}  // namespace qb::server
