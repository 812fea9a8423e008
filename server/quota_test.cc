// A tenant's limits as its clients meet them.
#include <gmock/gmock.h>

#include <string>

#include "core/base/atomic_file.h"
#include "proto/google/rpc/error_details.pb.h"
#include "proto/google/rpc/status.pb.h"
#include "server/testing/tenancy_fixture.h"

namespace qb::server {
namespace {

using ::testing::HasSubstr;

class QuotaTest : public TenancyTest {
 protected:
  // The credentials of a and b; each test says what their limits are.
  void SetUp() override {
    for (const char* tenant : {"a", "b"}) {
      tokens_[tenant] = MakeCredential(tenant, kUserScopes);
    }
  }

  void StartWith(const std::string& limits) {
    QB_ASSERT_OK(WriteFileAtomically(folder_.File("limits.json"), limits));
    ServerOptions options = Options();
    options.require_credentials = true;
    options.limits_file = folder_.File("limits.json");
    auto server = BuildServer(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    agent_ = std::make_unique<Client>(server_->worker_address(), "");
    a_ = std::make_unique<Client>(server_->address(), tokens_["a"]);
    b_ = std::make_unique<Client>(server_->address(), tokens_["b"]);
    ASSERT_TRUE(Upload(*a_, "model", "up", 5).ok());
    ASSERT_TRUE(Upload(*b_, "model", "up", 5).ok());
  }

  static grpc::Status TrySubmit(const Client& client) {
    pb::SubmitJobRequest request;
    *request.mutable_spec() = Spec("model");
    request.mutable_spec()->set_cache_policy(pb::CACHE_POLICY_BYPASS);
    pb::SubmitJobResponse response;
    return client.Call(client.jobs, &pb::JobService::Stub::SubmitJob, request, &response);
  }

  // What a program can read off a refusal.
  static void ExpectQuota(const grpc::Status& status, const std::string& reason,
                          const std::string& subject) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
    google::rpc::Status details;
    ASSERT_TRUE(details.ParseFromString(status.error_details()));
    ASSERT_EQ(details.details_size(), 3);
    google::rpc::ErrorInfo info;
    ASSERT_TRUE(details.details(0).UnpackTo(&info));
    EXPECT_EQ(info.reason(), reason);
    EXPECT_EQ(info.domain(), "compile.qb");
    google::rpc::QuotaFailure quota;
    ASSERT_TRUE(details.details(1).UnpackTo(&quota));
    ASSERT_EQ(quota.violations_size(), 1);
    EXPECT_EQ(quota.violations(0).subject(), subject);
    google::rpc::RetryInfo retry;
    ASSERT_TRUE(details.details(2).UnpackTo(&retry));
    EXPECT_GT(retry.retry_delay().seconds() + retry.retry_delay().nanos(), 0);
  }

  int LeaseAll() {
    pb::SyncRequest request;
    request.set_worker_id("w");
    request.set_epoch(epoch_);
    request.mutable_capabilities()->set_slots(8);
    request.set_free_slots(8);
    for (const pb::AttemptKey& key : held_) {
      *request.add_held()->mutable_key() = key;
    }
    pb::SyncResponse response;
    EXPECT_TRUE(
        agent_->Call(agent_->workers, &pb::WorkerService::Stub::Sync, request, &response).ok());
    for (const pb::Assignment& assignment : response.assignments()) {
      held_.push_back(assignment.key());
    }
    return response.assignments_size();
  }
};

TEST_F(QuotaTest, SubmitsOfOneTenantDoNotTakeThoseOfAnother) {
  StartWith(R"({"tenants": {"a": {"submits_per_second": 0.001, "submit_burst": 2}}})");
  EXPECT_TRUE(TrySubmit(*a_).ok());
  EXPECT_TRUE(TrySubmit(*a_).ok());
  ExpectQuota(TrySubmit(*a_), "SUBMIT_RATE_LIMIT", "tenant:a");
  EXPECT_TRUE(TrySubmit(*b_).ok());
}

TEST_F(QuotaTest, WaitingJobsAreLimitedByTenant) {
  StartWith(R"({"default": {"max_queued_jobs": 1}, "tenants": {"b": {"max_queued_jobs": 2}}})");
  EXPECT_TRUE(TrySubmit(*a_).ok());
  ExpectQuota(TrySubmit(*a_), "QUEUED_JOBS_LIMIT", "tenant:a");
  EXPECT_TRUE(TrySubmit(*b_).ok());
  EXPECT_TRUE(TrySubmit(*b_).ok());
  ExpectQuota(TrySubmit(*b_), "QUEUED_JOBS_LIMIT", "tenant:b");
}

TEST_F(QuotaTest, StoredBytesAreLimitedAndTold) {
  StartWith(R"({"default": {"max_stored_bytes": 20}})");
  ExpectQuota(Upload(*a_, std::string(16, 'x'), "big", 16), "STORED_BYTES_LIMIT", "tenant:a");
  EXPECT_TRUE(Upload(*a_, std::string(15, 'x'), "fits", 15).ok());
  // What is there already needs no room.
  EXPECT_TRUE(Upload(*a_, "model", "again", 5).ok());
  pb::GetCapabilitiesResponse response;
  ASSERT_TRUE(a_->Call(a_->info, &pb::ServerInfo::Stub::GetCapabilities, {}, &response).ok());
  EXPECT_EQ(response.usage().blob_bytes(), 20);
  EXPECT_EQ(response.usage().max_blob_bytes(), 20);
  ASSERT_TRUE(b_->Call(b_->info, &pb::ServerInfo::Stub::GetCapabilities, {}, &response).ok());
  EXPECT_EQ(response.usage().blob_bytes(), 5);
}

TEST_F(QuotaTest, OpenStreamsAreLimitedByTenantUntilTheyEnd) {
  StartWith(R"({"default": {"max_open_streams": 2}})");
  ASSERT_TRUE(TrySubmit(*a_).ok());
  pb::JobService::Stub& jobs = *a_->jobs;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<pb::WatchJobsResponse>>> open;
  for (int i = 0; i < 2; ++i) {
    contexts.push_back(a_->Context());
    open.push_back(jobs.WatchJobs(contexts.back().get(), {}));
    pb::WatchJobsResponse first;
    ASSERT_TRUE(open.back()->Read(&first));  // the job that is there
  }
  int frames = 0;
  const auto watch = [&](const Client& client) {
    return client.Read(client.jobs, &pb::JobService::Stub::WatchJobs, pb::WatchJobsRequest(),
                       &frames, 300);
  };
  ExpectQuota(watch(*a_), "OPEN_STREAMS_LIMIT", "tenant:a");
  EXPECT_EQ(watch(*b_).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);  // it is open
  contexts.front()->TryCancel();
  grpc::Status again;
  for (int i = 0; i < 100 && again.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED; ++i) {
    absl::SleepFor(absl::Milliseconds(20));
    again = watch(*a_);
  }
  EXPECT_EQ(again.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  contexts.back()->TryCancel();
  for (const auto& stream : open) {
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
}

TEST_F(QuotaTest, ResultOfAcceptedWorkIsStoredBeyondTheLimit) {
  StartWith(R"({"default": {"max_stored_bytes": 5}})");
  ASSERT_TRUE(TrySubmit(*a_).ok());
  const pb::AttemptKey key = Lease().key();
  EXPECT_TRUE(Upload(*agent_, "a long result", "attempt-1", 13, &key).ok());
}

TEST_F(QuotaTest, RunningJobsAreLimitedByTenantUntilTheFileSaysOtherwise) {
  StartWith(R"({"tenants": {"a": {"max_running_jobs": 1}}})");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(TrySubmit(*a_).ok());
    ASSERT_TRUE(TrySubmit(*b_).ok());
  }
  EXPECT_EQ(LeaseAll(), 4);
  QB_ASSERT_OK(WriteFileAtomically(folder_.File("limits.json"), "{}"));
  int more = 0;
  for (int i = 0; i < 200 && more < 2; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    more += LeaseAll();
  }
  EXPECT_EQ(more, 2);
}

}  // namespace
}  // namespace qb::server
