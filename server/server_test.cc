// A whole server on a unix socket, called as clients and agents call it.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

#include "core/base/digest.h"
#include "core/base/testing/status_matchers.h"
#include "core/base/testing/temp_dir.h"
#include "core/base/uuid.h"
#include "proto/qbc/v1/blob_service.grpc.pb.h"
#include "proto/qbc/v1/job_service.grpc.pb.h"
#include "proto/qbc/v1/server_info.grpc.pb.h"
#include "proto/qbc/v1/worker_service.grpc.pb.h"
#include "server/build_server.h"
#include "server/testing/server_fixture.h"

namespace qb::server {
namespace {

using ::qb::testing::StatusIs;
using ::testing::HasSubstr;

TEST_F(ServerTest, RunsAJobFromUploadToDownload) {
  const std::string id = SubmitGood();
  const pb::SyncResponse work = Sync(1);
  ASSERT_EQ(work.assignments_size(), 1);
  EXPECT_EQ(work.assignments(0).job_id(), id);
  const pb::AttemptKey key = work.assignments(0).key();
  {
    grpc::ClientContext context;
    pb::PutLogRequest request;
    *request.mutable_key() = key;
    request.set_data("a line\n");
    pb::PutLogResponse response;
    ASSERT_TRUE(workers_->PutLog(&context, request, &response).ok());
    EXPECT_EQ(response.committed_bytes(), 7);
  }
  EXPECT_EQ(Complete(key, "never stored").error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  Store("result");
  ASSERT_TRUE(Complete(key, "result").ok());
  ASSERT_TRUE(Complete(key, "result").ok());
  grpc::Status status;
  EXPECT_THAT(Watch(id, 0, status), ::testing::ElementsAre(1, 2, 3));
  EXPECT_TRUE(status.ok()) << status.error_message();
  {
    grpc::ClientContext context;
    pb::ReadBlobRequest request;
    request.set_sha256(Sha256Hex("result"));
    auto reader = blobs_->ReadBlob(&context, request);
    pb::ReadBlobResponse frame;
    ASSERT_TRUE(reader->Read(&frame));
    EXPECT_EQ(frame.data(), "result");
    EXPECT_EQ(frame.total_size_bytes(), 6);
    EXPECT_FALSE(reader->Read(&frame));
    EXPECT_TRUE(reader->Finish().ok());
  }
  grpc::ClientContext context;
  pb::ReadLogRequest request;
  request.set_job_id(id);
  auto reader = jobs_->ReadLog(&context, request);
  pb::ReadLogResponse frame;
  ASSERT_TRUE(reader->Read(&frame));
  EXPECT_EQ(frame.data(), "a line\n");
  EXPECT_FALSE(reader->Read(&frame));
}

TEST_F(ServerTest, SocketIsOnlyForItsOwner) {
  struct stat socket = {};
  ASSERT_EQ(stat(folder_.File("s").c_str(), &socket), 0);
  EXPECT_EQ(socket.st_mode & 0777, 0600u);
}

TEST_F(ServerTest, SecondServerOnTheSameFolderOrSocketIsRefused) {
  EXPECT_THAT(BuildServer(Options()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--data-dir")));
  ServerOptions other = Options();
  other.data_dir = folder_.File("other");
  EXPECT_THAT(BuildServer(other).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--listen")));
  SubmitGood();  // the first one is not disturbed
}

TEST_F(ServerTest, ListensOnAFreePortAndSharesItWithNobody) {
  server_->Shutdown(absl::ZeroDuration());
  server_.reset();
  listen_ = "127.0.0.1:0";
  Start();
  ServerOptions other = Options();
  other.data_dir = folder_.File("other");
  other.listen = server_->address();
  EXPECT_EQ(BuildServer(other).status().code(), absl::StatusCode::kUnavailable);
  SubmitGood();
}

TEST_F(ServerTest, MissingBlobsAreNamedAndTheRequestIdIsNotUsedUp) {
  grpc::ClientContext context;
  pb::SubmitJobResponse response;
  const grpc::Status status = Submit(Spec("absent"), response, "r", &context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr(Sha256Hex("absent")));
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto missing = trailers.find("qbc-missing-blobs");
  ASSERT_NE(missing, trailers.end());
  EXPECT_EQ(std::string(missing->second.data(), missing->second.size()), Sha256Hex("absent"));
  Store("absent");
  EXPECT_TRUE(Submit(Spec("absent"), response, "r").ok());
  EXPECT_FALSE(response.replayed());
  EXPECT_TRUE(Submit(Spec("absent"), response, "r").ok());
  EXPECT_TRUE(response.replayed());
  pb::JobSpec other = Spec("absent");
  other.set_priority(1);
  EXPECT_EQ(Submit(other, response, "r").error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(ServerTest, UnknownTargetCarriesItsFailureName) {
  grpc::ClientContext context;
  pb::SubmitJobResponse response;
  pb::JobSpec spec = Spec("x");
  spec.set_target_device("toaster");
  const grpc::Status status = Submit(spec, response, "", &context);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), ::testing::StartsWith("TARGET_ERROR: "));
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto failure = trailers.find("qbc-failure");
  ASSERT_NE(failure, trailers.end());
  EXPECT_EQ(std::string(failure->second.data(), failure->second.size()), "TARGET_ERROR");
}

TEST_F(ServerTest, UploadGoesOnAfterARestart) {
  const std::string bytes(3'000'000, 'b');
  pb::WriteBlobResponse response;
  ASSERT_TRUE(Upload(bytes, "u", {0, 1'000'000}, response).ok());
  EXPECT_EQ(response.committed_bytes(), 1'000'000);
  EXPECT_FALSE(response.complete());
  Restart();
  {
    grpc::ClientContext context;
    pb::QueryWriteRequest request;
    request.set_upload_id("u");
    pb::QueryWriteResponse state;
    ASSERT_TRUE(blobs_->QueryWrite(&context, request, &state).ok());
    EXPECT_EQ(state.committed_bytes(), 1'000'000);
  }
  EXPECT_EQ(Upload(bytes, "u", {2'000'000, 1}, response).error_code(),
            grpc::StatusCode::OUT_OF_RANGE);
  ASSERT_TRUE(Upload(bytes, "u", {1'000'000}, response).ok());
  EXPECT_TRUE(response.complete());
}

TEST_F(ServerTest, WrongDigestAndMissingHeaderAreRefused) {
  pb::WriteBlobResponse response;
  EXPECT_EQ(Upload("hello", "u", {}, response, Sha256Hex("bye")).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  grpc::ClientContext context;
  auto writer = blobs_->WriteBlob(&context, &response);
  writer->Write(pb::WriteBlobRequest());
  writer->WritesDone();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, WatcherThatGoesAwayIsForgotten) {
  const std::string id = SubmitGood();
  for (int i = 0; i < 20; ++i) {
    grpc::ClientContext context;
    pb::WatchJobRequest request;
    request.set_job_id(id);
    auto reader = jobs_->WatchJob(&context, request);
    pb::WatchJobResponse frame;
    ASSERT_TRUE(reader->Read(&frame));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  const pb::SyncResponse work = Sync(1);
  Store("result");
  ASSERT_TRUE(Complete(work.assignments(0).key(), "result").ok());
}

TEST_F(ServerTest, WatchersSeeTheSameAndEndWithTheJob) {
  const std::string id = SubmitGood();
  std::vector<std::thread> threads;
  threads.reserve(8);
  std::vector<std::vector<int64_t>> seen(8);
  for (auto& seqs : seen) {
    threads.emplace_back([&, this] {
      grpc::Status status;
      seqs = Watch(id, 0, status);
      EXPECT_TRUE(status.ok()) << status.error_message();
    });
  }
  const pb::AttemptKey key = Sync(1).assignments(0).key();
  for (int64_t seq = 1; seq <= 50; ++seq) {
    grpc::ClientContext context;
    pb::AppendEventsRequest request;
    *request.mutable_key() = key;
    request.add_events()->set_seq(seq);
    request.mutable_events(0)->mutable_phase()->set_phase(absl::StrCat("p", seq));
    pb::AppendEventsResponse response;
    ASSERT_TRUE(workers_->AppendEvents(&context, request, &response).ok());
  }
  Store("result");
  ASSERT_TRUE(Complete(key, "result").ok());
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::vector<int64_t> expected;
  for (int64_t seq = 1; seq <= 53; ++seq) {
    expected.push_back(seq);
  }
  for (const auto& seqs : seen) {
    EXPECT_EQ(seqs, expected);
  }
}

TEST_F(ServerTest, ShutdownEndsWatchesAndWaitingAgents) {
  const std::string id = SubmitGood();
  Sync(1);
  // Both calls must have arrived: one that meets a server already shutting down is cancelled by
  // gRPC.
  grpc::ClientContext watch_context;
  pb::WatchJobRequest watch_request;
  watch_request.set_job_id(id);
  const auto watch = jobs_->WatchJob(&watch_context, watch_request);
  pb::WatchJobResponse frame;
  ASSERT_TRUE(watch->Read(&frame));
  std::thread agent([&, this] {
    grpc::ClientContext context;
    pb::SyncRequest request;
    request.set_worker_id("other");
    request.set_epoch(MakeUuidV7());
    request.mutable_max_wait()->set_seconds(60);
    pb::SyncResponse response;
    EXPECT_EQ(workers_->Sync(&context, request, &response).error_code(),
              grpc::StatusCode::UNAVAILABLE);
  });
  pb::GetCapabilitiesResponse capabilities;
  while (capabilities.workers_size() < 2) {
    grpc::ClientContext context;
    ASSERT_TRUE(info_->GetCapabilities(&context, {}, &capabilities).ok());
  }
  std::thread stopper([this] { server_->Shutdown(absl::Seconds(5)); });
  while (watch->Read(&frame)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  stopper.join();
  agent.join();
}

TEST_F(ServerTest, SixteenClientsSubmitAtOnceAndEveryJobIsThereAfterARestart) {
  Store("model");
  std::vector<std::thread> threads;
  threads.reserve(16);
  std::vector<std::set<std::string>> ids(16);
  for (auto& mine : ids) {
    threads.emplace_back([&, this] {
      for (int i = 0; i < 13; ++i) {
        pb::SubmitJobResponse response;
        const grpc::Status status = Submit(Spec("model"), response, MakeUuidV7());
        EXPECT_TRUE(status.ok()) << status.error_message();
        mine.insert(response.job().id());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::set<std::string> all;
  for (const auto& mine : ids) {
    all.insert(mine.begin(), mine.end());
  }
  EXPECT_EQ(all.size(), 16u * 13);
  Restart();
  std::set<std::string> listed;
  pb::ListJobsRequest request;
  request.set_page_size(50);
  do {
    grpc::ClientContext context;
    pb::ListJobsResponse response;
    ASSERT_TRUE(jobs_->ListJobs(&context, request, &response).ok());
    for (const pb::Job& job : response.jobs()) {
      EXPECT_TRUE(listed.insert(job.id()).second);
      EXPECT_EQ(job.spec().model().entries_size(), 0);
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(listed, all);
  request.set_page_token("17.0123456789abcdef");
  grpc::ClientContext context;
  pb::ListJobsResponse response;
  EXPECT_EQ(jobs_->ListJobs(&context, request, &response).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerTest, TellsWhatItCanDo) {
  Sync(0);
  grpc::ClientContext context;
  pb::GetCapabilitiesResponse response;
  ASSERT_TRUE(info_->GetCapabilities(&context, {}, &response).ok());
  EXPECT_EQ(response.api_version(), "qbc.v1");
  EXPECT_EQ(response.server_version(), "1.2.3");
  EXPECT_EQ(response.targets_size(), 4);
  EXPECT_GT(response.limits().max_blob_bytes(), 0);
  ASSERT_EQ(response.workers_size(), 1);
  EXPECT_EQ(response.workers(0).worker_id(), "w");
}

TEST_F(ServerTest, JobsThatAreNotThereAreNotFound) {
  for (const std::string& id : {std::string(), std::string("x"), MakeUuidV7()}) {
    grpc::ClientContext context;
    pb::GetJobRequest request;
    request.set_job_id(id);
    pb::Job job;
    EXPECT_EQ(jobs_->GetJob(&context, request, &job).error_code(), grpc::StatusCode::NOT_FOUND);
    grpc::Status status;
    Watch(id, 0, status);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  }
}

}  // namespace
}  // namespace qb::server
