// A server that asks for credentials, with three tenants and things that one of them has.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/testing/status_matchers.h"
#include "server/auth/credential_file.h"
#include "server/auth/token.h"
#include "server/runtime/durable_files.h"
#include "server/testing/server_fixture.h"

namespace qb::server {

// One caller: stubs of every service on one listener, and the token that goes with each call.
struct Client {
  Client(const std::string& address, std::string with)
      : channel(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())),
        jobs(pb::JobService::NewStub(channel)),
        blobs(pb::BlobService::NewStub(channel)),
        info(pb::ServerInfo::NewStub(channel)),
        workers(pb::WorkerService::NewStub(channel)),
        token(std::move(with)) {}

  std::unique_ptr<grpc::ClientContext> Context(int timeout_ms = 10'000) const {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(timeout_ms));
    if (!token.empty()) {
      context->AddMetadata("authorization", "Bearer " + token);
    }
    return context;
  }

  // One call, e.g. Call(client.jobs, &pb::JobService::Stub::GetJob, request, response).
  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(const std::unique_ptr<Stub>& stub,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) const {
    return ((*stub).*method)(Context().get(), request, response);
  }

  // A stream's end, and how many frames with something in them came before.
  template <typename Stub, typename Request, typename Frame>
  grpc::Status Read(const std::unique_ptr<Stub>& stub,
                    std::unique_ptr<grpc::ClientReader<Frame>> (Stub::*method)(grpc::ClientContext*,
                                                                               const Request&),
                    const Request& request, int* frames, int timeout_ms = 10'000) const {
    const auto context = Context(timeout_ms);
    const auto reader = ((*stub).*method)(context.get(), request);
    Frame frame;
    while (reader->Read(&frame)) {
      *frames += IsBlank(frame) ? 0 : 1;
    }
    return reader->Finish();
  }
  static bool IsBlank(const pb::WatchJobsResponse& frame) { return frame.jobs().empty(); }
  static bool IsBlank(const pb::WatchJobResponse& frame) { return frame.events().empty(); }
  static bool IsBlank(const pb::ReadLogResponse& frame) { return frame.data().empty(); }
  static bool IsBlank(const pb::ReadBlobResponse& /*frame*/) { return false; }

  std::shared_ptr<grpc::Channel> channel;  // gRPC's own handle
  std::unique_ptr<pb::JobService::Stub> jobs;
  std::unique_ptr<pb::BlobService::Stub> blobs;
  std::unique_ptr<pb::ServerInfo::Stub> info;
  std::unique_ptr<pb::WorkerService::Stub> workers;
  std::string token;
};

class TenancyTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerOptions options = Options();
    options.require_credentials = true;
    for (const char* tenant : {"a", "b", "c"}) {
      tokens_[tenant] = MakeCredential(tenant, kUserScopes);
    }
    auto server = BuildServer(options);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    agent_ = std::make_unique<Client>(server_->worker_address(), "");
    a_ = std::make_unique<Client>(server_->address(), tokens_["a"]);
    b_ = std::make_unique<Client>(server_->address(), tokens_["b"]);
    c_ = std::make_unique<Client>(server_->address(), tokens_["c"]);
    // The fixture's own calls are those of tenant a.
    channel_ = a_->channel;
    MakeThingsOfA();
  }

  std::string MakeCredential(const std::string& tenant, const ScopeSet& scopes) {
    const Token token = MakeToken();
    Credential credential;
    credential.id = token.id;
    credential.tenant = tenant;
    credential.scopes = scopes;
    credential.sha256 = TokenHash(token);
    EXPECT_TRUE(MakeFolders(Options().data_dir).ok());
    QB_EXPECT_OK(EditCredentialFile(CredentialFilePath(Options().data_dir),
                                    [&](std::vector<Credential>& all) {
                                      all.push_back(credential);
                                      return absl::OkStatus();
                                    }));
    return token.Text();
  }

  // As the server's ticker does, within a second.
  void WaitUntilRefused(const Client& client) {
    pb::CountJobsResponse response;
    for (int i = 0; i < 200; ++i) {
      if (client.Call(client.jobs, &pb::JobService::Stub::CountJobs, {}, &response).error_code() ==
          grpc::StatusCode::UNAUTHENTICATED) {
        return;
      }
      absl::SleepFor(absl::Milliseconds(50));
    }
    FAIL() << "the credential is still accepted";
  }

  static grpc::Status Upload(const Client& client, const std::string& bytes, const std::string& id,
                             int64_t size, const pb::AttemptKey* attempt = nullptr) {
    const auto context = client.Context();
    pb::WriteBlobResponse response;
    const auto writer = client.blobs->WriteBlob(context.get(), &response);
    pb::WriteBlobRequest message;
    message.mutable_header()->set_sha256(Sha256Hex(bytes));
    message.mutable_header()->set_size_bytes(size);
    message.mutable_header()->set_upload_id(id);
    if (attempt != nullptr) {
      *message.mutable_header()->mutable_attempt() = *attempt;
    }
    message.set_data(bytes);
    writer->Write(message);
    writer->WritesDone();
    return writer->Finish();
  }

  static std::string Submit(const Client& client, const std::string& model, int priority,
                            const std::string& request_id = "") {
    pb::SubmitJobRequest request;
    request.set_request_id(request_id);
    *request.mutable_spec() = Spec(model);
    request.mutable_spec()->set_priority(priority);
    request.mutable_spec()->set_cache_policy(pb::CACHE_POLICY_BYPASS);
    pb::SubmitJobResponse response;
    const grpc::Status status =
        client.Call(client.jobs, &pb::JobService::Stub::SubmitJob, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job().id();
  }

  pb::Assignment Lease() {
    pb::SyncRequest request;
    request.set_worker_id("w");
    request.set_epoch(epoch_);
    request.mutable_capabilities()->set_slots(4);
    request.set_free_slots(1);
    for (const pb::AttemptKey& key : held_) {
      *request.add_held()->mutable_key() = key;
    }
    pb::SyncResponse response;
    const grpc::Status status =
        agent_->Call(agent_->workers, &pb::WorkerService::Stub::Sync, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.assignments_size(), 1);
    held_.push_back(response.assignments(0).key());
    return response.assignments(0);
  }

  // A done job with a result and a log, a running one, a waiting one, and half an upload.
  void MakeThingsOfA() {
    ASSERT_TRUE(Upload(*a_, "model", "up", 5).ok());
    done_ = Submit(*a_, "model", 9, "request-of-a");
    const pb::AttemptKey key = Lease().key();
    ASSERT_TRUE(Upload(*agent_, "result", "attempt-1", 6, &key).ok());
    pb::PutLogRequest log;
    *log.mutable_key() = key;
    log.set_data("log of a\n");
    pb::PutLogResponse stored;
    ASSERT_TRUE(agent_->Call(agent_->workers, &pb::WorkerService::Stub::PutLog, log, &stored).ok());
    pb::CompleteAttemptRequest complete;
    *complete.mutable_key() = key;
    complete.set_outcome(pb::ATTEMPT_OUTCOME_SUCCEEDED);
    pb::Artifact* artifact = complete.add_artifacts();
    artifact->set_name("model.mxq");
    artifact->set_sha256(Sha256Hex("result"));
    artifact->set_size_bytes(6);
    pb::CompleteAttemptResponse completed;
    ASSERT_TRUE(
        agent_
            ->Call(agent_->workers, &pb::WorkerService::Stub::CompleteAttempt, complete, &completed)
            .ok());
    held_.clear();
    running_ = Submit(*a_, "model", 8);
    live_ = Lease().key();
    waiting_ = Submit(*a_, "model", 7);
    pb::ListJobsRequest list;
    list.set_page_size(1);
    pb::ListJobsResponse page;
    ASSERT_TRUE(a_->Call(a_->jobs, &pb::JobService::Stub::ListJobs, list, &page).ok());
    page_token_ = page.next_page_token();
    ASSERT_NE(page_token_, "");
    ASSERT_TRUE(Upload(*a_, "half", "half", 100).ok());
  }

  pb::JobState StateOf(const std::string& id) {
    pb::GetJobRequest request;
    request.set_job_id(id);
    pb::Job job;
    EXPECT_TRUE(a_->Call(a_->jobs, &pb::JobService::Stub::GetJob, request, &job).ok());
    return job.state();
  }

  static constexpr ScopeSet kUserScopes = {Scope::kJobsRead, Scope::kJobsWrite, Scope::kBlobsRead,
                                           Scope::kBlobsWrite, Scope::kShare};
  std::map<std::string, std::string> tokens_;
  std::unique_ptr<Client> a_, b_, c_, agent_;
  std::vector<pb::AttemptKey> held_;
  std::string done_, running_, waiting_;  // jobs of a
  std::string page_token_;
  pb::AttemptKey live_;
};

}  // namespace qb::server
