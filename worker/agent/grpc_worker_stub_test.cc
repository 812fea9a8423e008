#include "worker/agent/grpc_worker_stub.h"

#include <grpcpp/grpcpp.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "proto/qbc/v1/blob_service.grpc.pb.h"
#include "proto/qbc/v1/worker_service.grpc.pb.h"

namespace qb::worker {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kBlob[] = "0123456789";

class WorkerServiceOfTest final : public v1::WorkerService::Service {
 public:
  grpc::Status Sync(grpc::ServerContext* context, const v1::SyncRequest* request,
                    v1::SyncResponse* response) override {
    if (request->worker_id() == "waits") {
      waiting.Notify();
      while (!context->IsCancelled()) {
        std::this_thread::yield();
      }
      return grpc::Status::CANCELLED;
    }
    response->add_assignments()->set_job_id(request->worker_id());
    return grpc::Status::OK;
  }
  grpc::Status AppendEvents(grpc::ServerContext*, const v1::AppendEventsRequest* request,
                            v1::AppendEventsResponse* response) override {
    response->set_committed_seq(request->events_size());
    return grpc::Status::OK;
  }
  grpc::Status PutLog(grpc::ServerContext*, const v1::PutLogRequest*,
                      v1::PutLogResponse*) override {
    return {grpc::StatusCode::UNKNOWN, "Stream removed"};
  }
  grpc::Status CompleteAttempt(grpc::ServerContext*, const v1::CompleteAttemptRequest*,
                               v1::CompleteAttemptResponse*) override {
    return {grpc::StatusCode::FAILED_PRECONDITION, "STALE_ATTEMPT: fence 7"};
  }
  absl::Notification waiting;
};

class BlobServiceOfTest final : public v1::BlobService::Service {
 public:
  grpc::Status ReadBlob(grpc::ServerContext*, const v1::ReadBlobRequest* request,
                        grpc::ServerWriter<v1::ReadBlobResponse>* writer) override {
    const std::string blob = kBlob;
    for (size_t i = static_cast<size_t>(request->offset()); i < blob.size(); i += 4) {
      v1::ReadBlobResponse response;
      response.set_offset(static_cast<int64_t>(i));
      response.set_data(blob.substr(i, 4));
      writer->Write(response);
    }
    return request->sha256() == "bad" ? grpc::Status(grpc::StatusCode::NOT_FOUND, "bad")
                                      : grpc::Status::OK;
  }
  // Answers early for the digest "known", else takes everything.
  grpc::Status WriteBlob(grpc::ServerContext* context,
                         grpc::ServerReader<v1::WriteBlobRequest>* reader,
                         v1::WriteBlobResponse* response) override {
    v1::WriteBlobRequest request;
    while (reader->Read(&request)) {
      if (request.header().sha256() == "known") {
        response->set_complete(true);
        return grpc::Status::OK;
      }
      received += request.data();
    }
    saw_cancel = context->IsCancelled();
    response->set_committed_bytes(static_cast<int64_t>(received.size()));
    response->set_complete(true);
    ended.Notify();
    return grpc::Status::OK;
  }
  std::string received;
  bool saw_cancel = false;
  absl::Notification ended;
};

class GrpcWorkerStubTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string address = absl::StrCat("unix:", dir_.File("s"));
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(&worker_);
    builder.RegisterService(&blobs_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    QB_ASSERT_OK_AND_ASSIGN(stub_, MakeGrpcWorkerStub({.server = address, .token = "secret"}));
  }
  void TearDown() override { server_->Shutdown(); }

  qb::testing::TempDir dir_;
  WorkerServiceOfTest worker_;
  BlobServiceOfTest blobs_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<WorkerStub> stub_;
};

TEST_F(GrpcWorkerStubTest, CarriesRequestsAndAnswers) {
  CallHandle handle;
  v1::SyncRequest request;
  request.set_worker_id("me");
  QB_ASSERT_OK_AND_ASSIGN(const v1::SyncResponse response, stub_->Sync(request, handle));
  EXPECT_EQ(response.assignments(0).job_id(), "me");
  v1::AppendEventsRequest events;
  events.add_events();
  QB_ASSERT_OK_AND_ASSIGN(const v1::AppendEventsResponse appended, stub_->AppendEvents(events));
  EXPECT_EQ(appended.committed_seq(), 1);
}

TEST_F(GrpcWorkerStubTest, KeepsCodesAndMakesBrokenConnectionsTransient) {
  const absl::Status stale = stub_->CompleteAttempt({}).status();
  EXPECT_TRUE(IsStaleAttempt(stale)) << stale;
  EXPECT_TRUE(IsTransient(stub_->PutLog({}).status()));
}

TEST_F(GrpcWorkerStubTest, EndsASyncFromAnotherThread) {
  CallHandle handle;
  v1::SyncRequest request;
  request.set_worker_id("waits");
  request.mutable_max_wait()->set_seconds(60);
  std::thread canceller([&] {
    worker_.waiting.WaitForNotification();
    handle.Cancel();
  });
  EXPECT_THAT(stub_->Sync(request, handle), StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  canceller.join();
  // A cancel that comes before the call counts too, until it is forgotten.
  handle.Reset();
  handle.Cancel();
  request.set_worker_id("me");
  EXPECT_FALSE(stub_->Sync(request, handle).ok());
  handle.Reset();
  QB_EXPECT_OK(stub_->Sync(request, handle));
}

TEST_F(GrpcWorkerStubTest, ReadsABlobFromAnOffset) {
  std::string bytes;
  const auto sink = [&](absl::string_view piece) {
    bytes.append(piece.data(), piece.size());
    return absl::OkStatus();
  };
  v1::ReadBlobRequest request;
  request.set_sha256("x");
  request.set_offset(3);
  QB_EXPECT_OK(stub_->ReadBlob(request, sink));
  EXPECT_EQ(bytes, "3456789");
  request.set_sha256("bad");
  EXPECT_THAT(stub_->ReadBlob(request, sink), StatusIs(absl::StatusCode::kNotFound, "bad"));
  request.set_sha256("x");
  request.set_offset(0);
  const auto refuse = [](absl::string_view) { return absl::DataLossError("enough"); };
  EXPECT_THAT(stub_->ReadBlob(request, refuse), StatusIs(absl::StatusCode::kDataLoss, "enough"));
}

TEST_F(GrpcWorkerStubTest, WritesABlobInPieces) {
  v1::WriteBlobHeader header;
  header.set_sha256("new");
  int pieces = 0;
  const auto source = [&]() -> absl::StatusOr<std::string> {
    return ++pieces > 3 ? std::string() : std::string("abc");
  };
  QB_ASSERT_OK_AND_ASSIGN(const v1::WriteBlobResponse response, stub_->WriteBlob(header, source));
  EXPECT_EQ(response.committed_bytes(), 9);
  EXPECT_EQ(blobs_.received, "abcabcabc");
}

TEST_F(GrpcWorkerStubTest, TakesAnEarlyAnswerToAnUpload) {
  v1::WriteBlobHeader header;
  header.set_sha256("known");
  const auto endless = []() -> absl::StatusOr<std::string> { return std::string(100'000, 'x'); };
  QB_ASSERT_OK_AND_ASSIGN(const v1::WriteBlobResponse response, stub_->WriteBlob(header, endless));
  EXPECT_TRUE(response.complete());
}

TEST_F(GrpcWorkerStubTest, ASourceThatFailsEndsTheUpload) {
  const auto failing = []() -> absl::StatusOr<std::string> {
    return absl::DataLossError("shorter");
  };
  EXPECT_THAT(stub_->WriteBlob({}, failing), StatusIs(absl::StatusCode::kDataLoss, "shorter"));
  blobs_.ended.WaitForNotification();
  EXPECT_TRUE(blobs_.saw_cancel);
}

TEST(MakeGrpcWorkerStub, RefusesMalformedAddresses) {
  for (const char* server : {"host", ":80", "http://host:80", ""}) {
    EXPECT_THAT(MakeGrpcWorkerStub({.server = server}).status(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("unix:")))
        << server;
  }
}

TEST(MakeGrpcWorkerStub, NamesACertificateFileThatIsNotThere) {
  EXPECT_THAT(MakeGrpcWorkerStub({.server = "farm.example:80", .tls_ca = "/none"}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/none")));
}

TEST(MakeGrpcWorkerStub, AServerThatIsNotThereIsTransient) {
  QB_ASSERT_OK_AND_ASSIGN(const std::unique_ptr<WorkerStub> stub,
                          MakeGrpcWorkerStub({.server = "unix:/nonexistent/socket"}));
  EXPECT_TRUE(IsTransient(stub->CompleteAttempt({}).status()));
}

}  // namespace
}  // namespace qb::worker
