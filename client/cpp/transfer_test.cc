// Uploads, downloads and watches against a server that breaks connections off.
#include <filesystem>

#include "absl/time/clock.h"

#include "client/cpp/connection.h"
#include "client/cpp/download.h"
#include "client/cpp/testing/fake_stub.h"
#include "client/cpp/upload.h"
#include "client/cpp/watch.h"
#include "core/base/atomic_file.h"
#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"

namespace qb::client {
namespace {

using ::qb::testing::StatusIs;
using ::qb::testing::TempDir;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr RetryPolicy kQuick = {.first_delay = absl::Microseconds(10),
                                .longest_delay = absl::Microseconds(100),
                                .budget = absl::Milliseconds(50)};

class TransferTest : public ::testing::Test {
 protected:
  LocalBlob Blob(const std::string& bytes) {
    return LocalBlob{.sha256 = Sha256Hex(bytes),
                     .size_bytes = static_cast<int64_t>(bytes.size()),
                     .content = bytes};
  }
  qbc::v1::Artifact Stored(const std::string& bytes) {
    qbc::v1::Artifact artifact;
    artifact.set_name("../../evil");
    artifact.set_sha256(Sha256Hex(bytes));
    artifact.set_size_bytes(static_cast<int64_t>(bytes.size()));
    absl::MutexLock lock(&server_.mutex);
    server_.blobs[artifact.sha256()] = bytes;
    return artifact;
  }
  int Calls(const std::string& method) {
    absl::MutexLock lock(&server_.mutex);
    return server_.calls[method];
  }

  FakeServer server_;
  Interruption interruption_;
  Connection connection_{std::make_unique<FakeStub>(&server_),
                         {.retry = kQuick, .interruption = &interruption_}};
  TempDir dir_;
};

TEST_F(TransferTest, UploadsWhatIsMissingAndEqualBlobsOnce) {
  Stored("there already");
  const LocalBlob a = Blob("there already");
  const LocalBlob b = Blob("new");
  const LocalBlob c = Blob("");
  UploadProgress last;
  QB_ASSERT_OK(UploadMissing(connection_, {&a, &b, &b, &c},
                             [&](const UploadProgress& progress) { last = progress; }));
  EXPECT_EQ(Calls("WriteBlob"), 2);
  EXPECT_EQ(last.done_blobs, 2);
  EXPECT_EQ(last.total_blobs, 2);
  EXPECT_EQ(last.done_bytes, 3);
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.blobs[b.sha256], "new");
}

TEST_F(TransferTest, GoesOnWithABrokenUploadWhereTheServerStopped) {
  std::string bytes;
  for (int i = 0; i < 6 << 20; ++i) {
    bytes += static_cast<char>(i % 251);
  }
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("big"), bytes));
  LocalBlob blob = Blob(bytes);
  blob.content.clear();
  blob.file = dir_.File("big");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.break_writes_after = {2, 1};
  }
  UploadProgress last;
  QB_ASSERT_OK(UploadMissing(connection_, {&blob},
                             [&](const UploadProgress& progress) { last = progress; }));
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.blobs[blob.sha256], bytes);
  EXPECT_EQ(server_.received_bytes, static_cast<int64_t>(bytes.size()));  // nothing sent twice
  EXPECT_EQ(last.done_bytes, blob.size_bytes);
}

TEST_F(TransferTest, TakesUpAnUploadThatAnEarlierProcessBegan) {
  const std::string bytes(5 << 20, 'x');
  const LocalBlob blob = Blob(bytes);
  {
    absl::MutexLock lock(&server_.mutex);
    server_.partial["c-" + blob.sha256.substr(0, 40)] = bytes.substr(0, 4 << 20);
  }
  QB_ASSERT_OK(UploadMissing(connection_, {&blob}, nullptr));
  absl::MutexLock lock(&server_.mutex);
  EXPECT_EQ(server_.received_bytes, 1 << 20);
}

TEST_F(TransferTest, UploadTellsThatAFileChanged) {
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("f"), "short"));
  LocalBlob blob = Blob("longer than it is");
  blob.content.clear();
  blob.file = dir_.File("f");
  EXPECT_THAT(UploadMissing(connection_, {&blob}, nullptr),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("became shorter")));
}

TEST_F(TransferTest, UploadGivesUpWhenTheServerStaysAway) {
  const LocalBlob blob = Blob("x");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["WriteBlob"].assign(100'000, absl::UnavailableError("gone"));
  }
  EXPECT_THAT(UploadMissing(connection_, {&blob}, nullptr),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("gone")));
}

TEST_F(TransferTest, DownloadsOverBrokenStreamsAndChecksTheDigest) {
  const std::string bytes(20'000, 'm');
  const qbc::v1::Artifact artifact = Stored(bytes);
  {
    absl::MutexLock lock(&server_.mutex);
    server_.break_reads_after = {1, 2};
  }
  QB_ASSERT_OK(DownloadArtifact(connection_, artifact, dir_.File("out.mxq"), nullptr));
  QB_ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(dir_.File("out.mxq")));
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(Calls("ReadBlob"), 3);
}

TEST_F(TransferTest, DownloadOfOtherBytesLeavesTheOldFileAlone) {
  qbc::v1::Artifact artifact = Stored("right");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.blobs[artifact.sha256()] = "wrong";
  }
  QB_ASSERT_OK(WriteFileAtomically(dir_.File("out.mxq"), "old"));
  EXPECT_THAT(DownloadArtifact(connection_, artifact, dir_.File("out.mxq"), nullptr),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("SHA-256")));
  QB_ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(dir_.File("out.mxq")));
  EXPECT_EQ(read, "old");
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);  // no temporary file is left
}

TEST_F(TransferTest, DownloadRefusesMoreBytesThanTheArtifactHas) {
  qbc::v1::Artifact artifact = Stored(std::string(100'000, 'x'));
  artifact.set_size_bytes(10);
  EXPECT_THAT(DownloadArtifact(connection_, artifact, dir_.File("out"), nullptr),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than the 10 bytes")));
}

TEST_F(TransferTest, DownloadsAnEmptyArtifact) {
  QB_ASSERT_OK(DownloadArtifact(connection_, Stored(""), dir_.File("empty"), nullptr));
  QB_ASSERT_OK_AND_ASSIGN(const std::string read, ReadFile(dir_.File("empty")));
  EXPECT_EQ(read, "");
}

class WatchTest : public TransferTest {
 protected:
  WatchTest() {
    absl::MutexLock lock(&server_.mutex);
    server_.jobs.emplace_back().set_id("j");
    server_.jobs.back().set_state(qbc::v1::JOB_STATE_QUEUED);
  }
  absl::Status Watch(absl::Time deadline = absl::InfiniteFuture(), int64_t after_seq = 0) {
    return WatchToEnd(
        connection_, {.job_id = "j", .after_seq = after_seq, .deadline = deadline, .retry = kQuick},
        [this](const qbc::v1::JobEvent& event) { seen_.push_back(event.seq()); });
  }
  std::vector<int64_t> seen_;
};

TEST_F(WatchTest, SeesEveryEventOnceOverLostConnections) {
  FinishFakeJob(server_, "j", "mxq");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.break_watches_after = {0, 1, 0, 2, 1};
    server_.failures["WatchJob"] = {absl::UnavailableError("restart"), absl::OkStatus(),
                                    absl::UnavailableError("restart")};
  }
  QB_ASSERT_OK(Watch());
  EXPECT_THAT(seen_, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(WatchTest, StaysBeyondTheBudgetOfOtherCalls) {
  FinishFakeJob(server_, "j", "mxq");
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["WatchJob"].assign(2000, absl::UnavailableError("away"));
  }
  QB_ASSERT_OK(Watch());
  EXPECT_EQ(seen_.size(), 6u);
}

TEST_F(WatchTest, EndsAtTheDeadline) {
  EXPECT_THAT(Watch(absl::Now() + absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("job goes on")));
}

TEST_F(WatchTest, EndsOnInterruption) {
  server_.on_watch_idle = [this](const std::string&) { interruption_.Raise(); };
  EXPECT_THAT(Watch(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(WatchTest, EndsAtOnceAfterTheTerminalEvent) {
  FinishFakeJob(server_, "j", "mxq");
  QB_ASSERT_OK(Watch(absl::InfiniteFuture(), 6));
  EXPECT_TRUE(seen_.empty());
}

TEST_F(WatchTest, TellsThatTheJobIsUnknown) {
  EXPECT_THAT(WatchToEnd(connection_, {.job_id = "other"}, [](const qbc::v1::JobEvent&) {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("other")));
}

TEST_F(TransferTest, RetriesUnaryCallsAndSubmitsOnce) {
  {
    absl::MutexLock lock(&server_.mutex);
    server_.failures["SubmitJob"] = {absl::UnavailableError("a"), absl::UnavailableError("b")};
  }
  qbc::v1::SubmitJobRequest request;
  request.set_request_id("r");
  QB_ASSERT_OK_AND_ASSIGN(const qbc::v1::SubmitJobResponse first, connection_.SubmitJob(request));
  QB_ASSERT_OK_AND_ASSIGN(const qbc::v1::SubmitJobResponse again, connection_.SubmitJob(request));
  EXPECT_EQ(first.job().id(), again.job().id());
  EXPECT_EQ(Calls("SubmitJob"), 4);
}

TEST_F(TransferTest, DoesNotRetryRefusals) {
  qbc::v1::GetJobRequest request;
  request.set_job_id("none");
  EXPECT_THAT(connection_.GetJob(request), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
  EXPECT_EQ(Calls("GetJob"), 1);
}

}  // namespace
}  // namespace qb::client
