// How a server ends: health, new jobs, watchers, traces and the log.
#include <gmock/gmock.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "proto/google/rpc/error_details.pb.h"
#include "proto/google/rpc/status.pb.h"
#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

using ::testing::IsEmpty;

constexpr char kTrace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

class DrainTest : public ServerTest {
 protected:
  // grpc.health.v1, by its bytes: HealthCheckRequest{1: service}, HealthCheckResponse{1: status}.
  // "SERVING", "NOT_SERVING", or the name of the call's error.
  std::string Health(const std::string& service) {
    const std::string request =
        service.empty() ? "" : absl::StrCat("\x0a", std::string(1, char(service.size())), service);
    const grpc::Slice slice(request);
    const grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer received;
    grpc::ClientContext context;
    const grpc::internal::RpcMethod method("/grpc.health.v1.Health/Check",
                                           grpc::internal::RpcMethod::NORMAL_RPC, channel_);
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>(
            channel_.get(), method, &context, sent, &received);
    if (!status.ok()) {
      return status.error_code() == grpc::StatusCode::NOT_FOUND ? "NOT_FOUND" : "error";
    }
    grpc::Slice answer;
    EXPECT_TRUE(received.DumpToSingleSlice(&answer).ok());
    const std::string bytes(reinterpret_cast<const char*>(answer.begin()), answer.size());
    return bytes == "\x08\x01" ? "SERVING" : bytes == "\x08\x02" ? "NOT_SERVING" : "?";
  }

  // Of the details of `status`.
  static google::rpc::ErrorInfo InfoOf(const grpc::Status& status, google::rpc::RetryInfo& retry) {
    google::rpc::Status details;
    EXPECT_TRUE(details.ParseFromString(status.error_details()));
    google::rpc::ErrorInfo info;
    for (const auto& detail : details.details()) {
      if (!detail.UnpackTo(&info)) {
        detail.UnpackTo(&retry);
      }
    }
    return info;
  }

  std::string FieldOf(const std::string& message, const std::string& name) {
    for (const LogLine& line : LogLines()) {
      const std::map<std::string, std::string> fields(line.fields.begin(), line.fields.end());
      if (line.message == message && fields.count(name) > 0) {
        return fields.at(name);
      }
    }
    return "";
  }
};

TEST_F(DrainTest, HealthIsKnownForTheServerAndForEachService) {
  const std::vector<std::string> services = {"", "qbc.v1.JobService", "qbc.v1.BlobService",
                                             "qbc.v1.WorkerService", "qbc.v1.ServerInfo"};
  for (const std::string& service : services) {
    EXPECT_EQ(Health(service), "SERVING") << service;
  }
  EXPECT_EQ(Health("qbc.v1.Nothing"), "NOT_FOUND");
  server_->BeginDrain();
  for (const std::string& service : services) {
    EXPECT_EQ(Health(service), "NOT_SERVING") << service;
  }
}

TEST_F(DrainTest, NewJobsAreRefusedAndSayWhenToComeBack) {
  const std::string model = "model";
  Store(model);
  pb::SubmitJobResponse first;
  ASSERT_TRUE(Submit(Spec(model), first, "request-1").ok());
  server_->BeginDrain();
  pb::SubmitJobResponse response;
  const grpc::Status refused = Submit(Spec(model), response, "request-2");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::UNAVAILABLE);
  google::rpc::RetryInfo retry;
  EXPECT_EQ(InfoOf(refused, retry).reason(), "SERVER_DRAINING");
  EXPECT_GT(retry.retry_delay().seconds(), 0);
  // What was accepted is told again; everything else goes on.
  EXPECT_TRUE(Submit(Spec(model), response, "request-1").ok());
  EXPECT_TRUE(response.replayed());
  EXPECT_EQ(response.job().id(), first.job().id());
  EXPECT_FALSE(Store("another model").empty());
  EXPECT_THAT(Sync(1).assignments(), IsEmpty());
}

TEST_F(DrainTest, ARefusedRequestIsFreeAfterTheRestart) {
  Store("model");
  server_->BeginDrain();
  pb::SubmitJobResponse response;
  EXPECT_FALSE(Submit(Spec("model"), response, "request-1").ok());
  Restart();
  EXPECT_TRUE(Submit(Spec("model"), response, "request-1").ok());
  EXPECT_FALSE(response.replayed());
}

TEST_F(DrainTest, WatchersGoOnWhileItDrainsAndAreToldAtTheEnd) {
  const std::string id = SubmitGood();
  Store("second");
  pb::SubmitJobResponse second;
  ASSERT_TRUE(Submit(Spec("second"), second).ok());
  const std::string other = second.job().id();
  grpc::ClientContext context;
  pb::WatchJobRequest request;
  request.set_job_id(id);
  auto reader = jobs_->WatchJob(&context, request);
  pb::WatchJobResponse frame;
  ASSERT_TRUE(reader->Read(&frame));
  server_->BeginDrain();
  // Other calls are still answered.
  grpc::ClientContext cancel_context;
  pb::CancelJobRequest cancel;
  cancel.set_job_id(other);
  pb::Job cancelled;
  EXPECT_TRUE(jobs_->CancelJob(&cancel_context, cancel, &cancelled).ok());
  std::thread end([this] { server_->Shutdown(absl::Seconds(5)); });
  while (reader->Read(&frame)) {
  }
  const grpc::Status status = reader->Finish();
  end.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  google::rpc::RetryInfo retry;
  EXPECT_EQ(InfoOf(status, retry).reason(), "SERVER_DRAINING");
  EXPECT_TRUE(retry.has_retry_delay());
}

TEST_F(DrainTest, ATraceGoesFromTheCallToTheJobTheAgentAndTheLog) {
  Store("model");
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kTrace);
  pb::SubmitJobResponse response;
  ASSERT_TRUE(Submit(Spec("model"), response, "", &context).ok());
  EXPECT_EQ(response.job().traceparent(), kTrace);
  const pb::SyncResponse work = Sync(1);
  ASSERT_EQ(work.assignments_size(), 1);
  EXPECT_EQ(work.assignments(0).traceparent(), kTrace);
  EXPECT_EQ(FieldOf("job accepted", "traceparent"), kTrace);
  EXPECT_EQ(FieldOf("job accepted", "tenant"), "default");
  EXPECT_EQ(FieldOf("attempt leased", "traceparent"), kTrace);
  EXPECT_EQ(FieldOf("attempt leased", "job"), response.job().id());
  EXPECT_EQ(FieldOf("attempt leased", "worker"), "w");
}

TEST_F(DrainTest, AMalformedTraceCostsTheTraceAlone) {
  Store("model");
  grpc::ClientContext context;
  context.AddMetadata("traceparent", "00-zz");
  pb::SubmitJobResponse response;
  ASSERT_TRUE(Submit(Spec("model"), response, "", &context).ok());
  EXPECT_EQ(response.job().traceparent(), "");
}

}  // namespace
}  // namespace qb::server
