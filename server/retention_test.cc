// What clients see of the end of things: times, pins, removal, a disk that is nearly full.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"

#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

using ::testing::HasSubstr;

class RetentionTest : public ServerTest {
 protected:
  ServerOptions Options() override {
    ServerOptions options = ServerTest::Options();
    options.retention = retention_;
    options.collect_interval_ms = 100;
    options.min_free_bytes = min_free_bytes_;
    return options;
  }

  grpc::Status Get(const std::string& id, pb::Job& job) {
    grpc::ClientContext context;
    pb::GetJobRequest request;
    request.set_job_id(id);
    return jobs_->GetJob(&context, request, &job);
  }

  pb::Job Cancel(const std::string& id) {
    grpc::ClientContext context;
    pb::CancelJobRequest request;
    request.set_job_id(id);
    pb::Job job;
    EXPECT_TRUE(jobs_->CancelJob(&context, request, &job).ok());
    return job;
  }

  pb::Job Pin(const std::string& id, bool pinned) {
    grpc::ClientContext context;
    pb::PinJobRequest request;
    request.set_job_id(id);
    request.set_pinned(pinned);
    pb::Job job;
    EXPECT_TRUE(jobs_->PinJob(&context, request, &job).ok());
    return job;
  }

  bool GoesSoon(const std::string& id) {
    for (int i = 0; i < 600; ++i) {
      pb::Job job;
      if (Get(id, job).error_code() == grpc::StatusCode::NOT_FOUND) {
        return true;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  }

  RetentionPolicy retention_;
  int64_t min_free_bytes_ = 0;
};

TEST_F(RetentionTest, EndedJobSaysWhenItGoes) {
  const std::string id = SubmitGood();
  pb::Job job;
  ASSERT_TRUE(Get(id, job).ok());
  EXPECT_FALSE(job.has_expire_time());
  const pb::Job cancelled = Cancel(id);
  EXPECT_EQ(cancelled.expire_time().seconds(),
            cancelled.finish_time().seconds() + int64_t{7} * 24 * 3600);
  ASSERT_TRUE(Get(id, job).ok());
  EXPECT_EQ(job.expire_time().seconds(), cancelled.expire_time().seconds());
  grpc::ClientContext context;
  pb::ListJobsResponse page;
  ASSERT_TRUE(jobs_->ListJobs(&context, {}, &page).ok());
  ASSERT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.jobs(0).expire_time().seconds(), cancelled.expire_time().seconds());
  EXPECT_FALSE(Pin(id, true).has_expire_time());
  EXPECT_TRUE(Pin(id, false).has_expire_time());
}

TEST_F(RetentionTest, ServerRemovesWhatItsTimeIsOver) {
  const std::string pinned = SubmitGood();
  const std::string id = SubmitGood();
  Pin(pinned, true);
  Cancel(pinned);
  Cancel(id);
  retention_.cancelled_ms = 0;
  Restart();
  EXPECT_TRUE(GoesSoon(id));
  pb::Job job;
  EXPECT_TRUE(Get(pinned, job).ok());
  Pin(pinned, false);
  EXPECT_TRUE(GoesSoon(pinned));
}

TEST_F(RetentionTest, NearlyFullDiskTakesNothingNewAndFinishesWhatItHas) {
  const std::string id = SubmitGood();
  min_free_bytes_ = int64_t{1} << 60;
  Restart();
  pb::SubmitJobResponse submitted;
  const grpc::Status refused = Submit(Spec("model"), submitted);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("DISK_LOW"));
  pb::WriteBlobResponse written;
  EXPECT_THAT(Upload("another", "u", {}, written).error_message(), HasSubstr("DISK_LOW"));
  // A worker finishes what was accepted.
  const pb::SyncResponse work = Sync(1);
  ASSERT_EQ(work.assignments_size(), 1);
  grpc::ClientContext context;
  const auto writer = blobs_->WriteBlob(&context, &written);
  pb::WriteBlobRequest message;
  message.mutable_header()->set_sha256(Sha256Hex("result"));
  message.mutable_header()->set_size_bytes(6);
  message.mutable_header()->set_upload_id("attempt-1");
  *message.mutable_header()->mutable_attempt() = work.assignments(0).key();
  message.set_data("result");
  writer->Write(message);
  writer->WritesDone();
  ASSERT_TRUE(writer->Finish().ok());
  EXPECT_TRUE(Complete(work.assignments(0).key(), "result").ok());
  pb::Job job;
  ASSERT_TRUE(Get(id, job).ok());
  EXPECT_EQ(job.state(), pb::JOB_STATE_SUCCEEDED);
}

}  // namespace
}  // namespace qb::server
