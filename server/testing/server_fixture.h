// A whole server on a unix socket with stubs of its services, for tests.
#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/digest.h"
#include "core/base/testing/temp_dir.h"
#include "core/base/uuid.h"
#include "proto/qbc/v1/blob_service.grpc.pb.h"
#include "proto/qbc/v1/job_service.grpc.pb.h"
#include "proto/qbc/v1/server_info.grpc.pb.h"
#include "proto/qbc/v1/worker_service.grpc.pb.h"
#include "server/build_server.h"

namespace qb::server {

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { Start(); }

  virtual ServerOptions Options() {
    ServerOptions options;
    options.data_dir = folder_.File("data");
    options.listen = listen_.empty() ? absl::StrCat("unix:", folder_.File("s")) : listen_;
    options.version = "1.2.3";
    options.targets = BuiltInTargets();
    options.log = Log([this](const LogLine& line) {
      absl::MutexLock lock(&log_mutex_);
      log_.push_back(line);
    });
    options.on_fatal = [](const absl::Status&) {};
    return options;
  }

  void Start() {
    auto server = BuildServer(Options());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    // Else the channel to a restarted server inherits the waits of the one before.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(),
                                         arguments);
    jobs_ = pb::JobService::NewStub(channel_);
    blobs_ = pb::BlobService::NewStub(channel_);
    workers_ = pb::WorkerService::NewStub(channel_);
    info_ = pb::ServerInfo::NewStub(channel_);
  }

  void Restart() {
    server_->Shutdown(absl::Milliseconds(100));
    server_.reset();
    Start();
  }

  // Which bytes one call sends: from `offset` to the end, or `only` so many.
  struct UploadPart {
    int64_t offset = 0;
    int64_t only = -1;
  };
  grpc::Status Upload(const std::string& bytes, const std::string& id, const UploadPart& part,
                      pb::WriteBlobResponse& response, const std::string& digest = "") {
    int64_t offset = part.offset;
    grpc::ClientContext context;
    auto writer = blobs_->WriteBlob(&context, &response);
    pb::WriteBlobRequest message;
    message.mutable_header()->set_sha256(digest.empty() ? Sha256Hex(bytes) : digest);
    message.mutable_header()->set_size_bytes(static_cast<int64_t>(bytes.size()));
    message.mutable_header()->set_upload_id(id);
    message.mutable_header()->set_offset(offset);
    const int64_t end = part.only < 0 ? static_cast<int64_t>(bytes.size()) : offset + part.only;
    while (writer->Write(message) && offset < end) {
      message.clear_header();
      const int64_t size = std::min<int64_t>(100'000, end - offset);
      message.set_data(bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(size)));
      offset += size;
      if (offset >= end) {
        writer->Write(message);
        break;
      }
    }
    writer->WritesDone();
    return writer->Finish();
  }

  std::string Store(const std::string& bytes) {
    pb::WriteBlobResponse response;
    const grpc::Status status = Upload(bytes, MakeUuidV7(), {}, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.complete());
    return Sha256Hex(bytes);
  }

  static pb::JobSpec Spec(const std::string& model) {
    pb::JobSpec spec;
    spec.set_target_device("aries-rb");
    auto* entry = spec.mutable_model()->add_entries();
    entry->set_path("net.onnx");
    entry->set_sha256(Sha256Hex(model));
    entry->set_size_bytes(static_cast<int64_t>(model.size()));
    spec.mutable_model()->set_main("net.onnx");
    return spec;
  }

  grpc::Status Submit(const pb::JobSpec& spec, pb::SubmitJobResponse& response,
                      const std::string& request_id = "", grpc::ClientContext* given = nullptr) {
    grpc::ClientContext own;
    pb::SubmitJobRequest request;
    request.set_request_id(request_id);
    *request.mutable_spec() = spec;
    return jobs_->SubmitJob(given != nullptr ? given : &own, request, &response);
  }

  std::string SubmitGood() {
    Store("model");
    pb::SubmitJobResponse response;
    const grpc::Status status = Submit(Spec("model"), response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job().id();
  }

  pb::SyncResponse Sync(int free_slots) {
    grpc::ClientContext context;
    pb::SyncRequest request;
    request.set_worker_id("w");
    request.set_epoch(epoch_);
    request.set_free_slots(free_slots);
    pb::SyncResponse response;
    const grpc::Status status = workers_->Sync(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  grpc::Status Complete(const pb::AttemptKey& key, const std::string& result) {
    grpc::ClientContext context;
    pb::CompleteAttemptRequest request;
    *request.mutable_key() = key;
    request.set_outcome(pb::ATTEMPT_OUTCOME_SUCCEEDED);
    auto* artifact = request.add_artifacts();
    artifact->set_name("model.mxq");
    artifact->set_sha256(Sha256Hex(result));
    artifact->set_size_bytes(static_cast<int64_t>(result.size()));
    pb::CompleteAttemptResponse response;
    return workers_->CompleteAttempt(&context, request, &response);
  }

  std::vector<int64_t> Watch(const std::string& id, int64_t after_seq, grpc::Status& status) {
    grpc::ClientContext context;
    pb::WatchJobRequest request;
    request.set_job_id(id);
    request.set_after_seq(after_seq);
    auto reader = jobs_->WatchJob(&context, request);
    std::vector<int64_t> seqs;
    pb::WatchJobResponse frame;
    while (reader->Read(&frame)) {
      for (const pb::JobEvent& event : frame.events()) {
        seqs.push_back(event.seq());
      }
    }
    status = reader->Finish();
    return seqs;
  }

  qb::testing::TempDir folder_;
  std::vector<LogLine> LogLines() {
    absl::MutexLock lock(&log_mutex_);
    return log_;
  }

  std::string listen_;
  absl::Mutex log_mutex_;
  std::vector<LogLine> log_ ABSL_GUARDED_BY(log_mutex_);
  const std::string epoch_ = MakeUuidV7();
  std::unique_ptr<CompileServer> server_;
  std::shared_ptr<grpc::Channel> channel_;  // gRPC's own handle
  std::unique_ptr<pb::JobService::Stub> jobs_;
  std::unique_ptr<pb::BlobService::Stub> blobs_;
  std::unique_ptr<pb::WorkerService::Stub> workers_;
  std::unique_ptr<pb::ServerInfo::Stub> info_;
};

}  // namespace qb::server
