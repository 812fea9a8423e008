// Tenants of one server: whatever one of them calls, with whatever it has learned of another, it
// learns nothing more and changes nothing.
#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>
#include <set>

#include "absl/strings/str_replace.h"

#include "server/testing/tenancy_fixture.h"

namespace qb::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using enum grpc::StatusCode;

// A method of a service and what a caller does with it.
struct Row {
  const char* method;
  std::function<grpc::Status(const Client&)> call;
};

template <typename Request>
Request OfJob(const std::string& id) {
  Request request;
  request.set_job_id(id);
  return request;
}

template <typename Request>
Request OfJobAndTenant(const std::string& id) {
  Request request = OfJob<Request>(id);
  request.set_tenant("c");
  return request;
}

// Every method with one job of somebody else. A call that succeeds has found nothing.
// NOLINTNEXTLINE(readability-function-size): a table, a row a method
std::vector<Row> CallsAbout(const std::string& job, const std::string& page_token,
                            const pb::AttemptKey& live) {
  using Jobs = pb::JobService::Stub;
  using Blobs = pb::BlobService::Stub;
  using Workers = pb::WorkerService::Stub;
  return {
      {"JobService.SubmitJob",
       [](const Client& client) {
         pb::SubmitJobRequest request;
         request.set_request_id("request-of-a");
         *request.mutable_spec()->mutable_model()->add_entries() = [] {
           pb::ManifestEntry entry;
           entry.set_path("net.onnx");
           entry.set_sha256(Sha256Hex("model"));
           entry.set_size_bytes(5);
           return entry;
         }();
         request.mutable_spec()->mutable_model()->set_main("net.onnx");
         request.mutable_spec()->set_target_device("aries-rb");
         pb::SubmitJobResponse response;
         grpc::Status status = client.Call(client.jobs, &Jobs::SubmitJob, request, &response);
         EXPECT_THAT(status.error_message(), HasSubstr("MISSING_BLOB"));
         EXPECT_FALSE(response.replayed());
         return status;
       }},
      {"JobService.ValidateJob",
       [](const Client& client) {
         pb::ValidateJobResponse response;
         return client.Call(client.jobs, &Jobs::ValidateJob, {}, &response);
       }},
      {"JobService.GetJob",
       [=](const Client& client) {
         pb::Job response;
         return client.Call(client.jobs, &Jobs::GetJob, OfJob<pb::GetJobRequest>(job), &response);
       }},
      {"JobService.ListJobs",
       [=](const Client& client) {
         pb::ListJobsResponse response;
         EXPECT_TRUE(client.Call(client.jobs, &Jobs::ListJobs, {}, &response).ok());
         EXPECT_THAT(response.jobs(), IsEmpty());
         pb::ListJobsRequest request;
         request.set_page_size(1);
         request.set_page_token(page_token);
         return client.Call(client.jobs, &Jobs::ListJobs, request, &response);
       }},
      {"JobService.WatchJob",
       [=](const Client& client) {
         int frames = 0;
         return client.Read(client.jobs, &Jobs::WatchJob, OfJob<pb::WatchJobRequest>(job), &frames);
       }},
      {"JobService.WatchJobs",
       [](const Client& client) {
         int frames = 0;
         grpc::Status status =
             client.Read(client.jobs, &Jobs::WatchJobs, pb::WatchJobsRequest(), &frames, 300);
         EXPECT_EQ(frames, 0);
         return status;
       }},
      {"JobService.CountJobs",
       [](const Client& client) {
         pb::CountJobsResponse response;
         grpc::Status status = client.Call(client.jobs, &Jobs::CountJobs, {}, &response);
         EXPECT_THAT(response.counts(), IsEmpty());
         return status;
       }},
      {"JobService.CancelJob",
       [=](const Client& client) {
         pb::Job response;
         return client.Call(client.jobs, &Jobs::CancelJob, OfJob<pb::CancelJobRequest>(job),
                            &response);
       }},
      {"JobService.ReadLog",
       [=](const Client& client) {
         int frames = 0;
         return client.Read(client.jobs, &Jobs::ReadLog, OfJob<pb::ReadLogRequest>(job), &frames);
       }},
      {"JobService.ShareJob",
       [=](const Client& client) {
         pb::JobShares response;
         return client.Call(client.jobs, &Jobs::ShareJob, OfJobAndTenant<pb::ShareJobRequest>(job),
                            &response);
       }},
      {"JobService.UnshareJob",
       [=](const Client& client) {
         pb::JobShares response;
         return client.Call(client.jobs, &Jobs::UnshareJob,
                            OfJobAndTenant<pb::UnshareJobRequest>(job), &response);
       }},
      {"JobService.PinJob",
       [=](const Client& client) {
         pb::PinJobRequest request = OfJob<pb::PinJobRequest>(job);
         request.set_pinned(true);
         pb::Job response;
         return client.Call(client.jobs, &Jobs::PinJob, request, &response);
       }},
      {"BlobService.FindMissingBlobs",
       [](const Client& client) {
         pb::FindMissingBlobsRequest request;
         for (const char* bytes : {"model", "result", "half"}) {
           request.add_blobs()->set_sha256(Sha256Hex(bytes));
         }
         pb::FindMissingBlobsResponse response;
         grpc::Status status =
             client.Call(client.blobs, &Blobs::FindMissingBlobs, request, &response);
         EXPECT_EQ(response.missing_size(), status.ok() ? 3 : 0);
         return status;
       }},
      {"BlobService.WriteBlob",
       [](const Client& client) {
         // Goes on where the upload of the other tenant stopped.
         const auto context = client.Context();
         pb::WriteBlobResponse response;
         const auto writer = client.blobs->WriteBlob(context.get(), &response);
         pb::WriteBlobRequest message;
         message.mutable_header()->set_sha256(Sha256Hex("half"));
         message.mutable_header()->set_size_bytes(100);
         message.mutable_header()->set_upload_id("half");
         message.mutable_header()->set_offset(4);
         writer->Write(message);
         writer->WritesDone();
         return writer->Finish();
       }},
      {"BlobService.QueryWrite",
       [](const Client& client) {
         pb::QueryWriteRequest request;
         request.set_upload_id("half");
         request.set_sha256(Sha256Hex("model"));
         pb::QueryWriteResponse response;
         grpc::Status status = client.Call(client.blobs, &Blobs::QueryWrite, request, &response);
         EXPECT_EQ(response.committed_bytes(), 0);
         EXPECT_FALSE(response.complete());
         return status;
       }},
      {"BlobService.ReadBlob",
       [=](const Client& client) {
         int frames = 0;
         grpc::Status status;
         for (const char* bytes : {"model", "result"}) {
           pb::ReadBlobRequest request;
           request.set_sha256(Sha256Hex(bytes));
           status = client.Read(client.blobs, &Blobs::ReadBlob, request, &frames);
           EXPECT_FALSE(status.ok());
           *request.mutable_attempt() = live;
           EXPECT_FALSE(client.Read(client.blobs, &Blobs::ReadBlob, request, &frames).ok());
         }
         EXPECT_EQ(frames, 0);
         return status;
       }},
      {"WorkerService.Sync",
       [](const Client& client) {
         pb::SyncResponse response;
         return client.Call(client.workers, &Workers::Sync, {}, &response);
       }},
      {"WorkerService.AppendEvents",
       [=](const Client& client) {
         pb::AppendEventsRequest request;
         *request.mutable_key() = live;
         pb::AppendEventsResponse response;
         return client.Call(client.workers, &Workers::AppendEvents, request, &response);
       }},
      {"WorkerService.PutLog",
       [=](const Client& client) {
         pb::PutLogRequest request;
         *request.mutable_key() = live;
         pb::PutLogResponse response;
         return client.Call(client.workers, &Workers::PutLog, request, &response);
       }},
      {"WorkerService.CompleteAttempt",
       [=](const Client& client) {
         pb::CompleteAttemptRequest request;
         *request.mutable_key() = live;
         request.set_outcome(pb::ATTEMPT_OUTCOME_CANCELLED);
         pb::CompleteAttemptResponse response;
         return client.Call(client.workers, &Workers::CompleteAttempt, request, &response);
       }},
      {"ServerInfo.GetCapabilities",
       [](const Client& client) {
         pb::GetCapabilitiesResponse response;
         grpc::Status status =
             client.Call(client.info, &pb::ServerInfo::Stub::GetCapabilities, {}, &response);
         EXPECT_THAT(response.workers(), IsEmpty());
         EXPECT_THAT(response.ShortDebugString(), Not(HasSubstr("\"a\"")));
         return status;
       }},
  };
}

// What each method answers to a tenant that asks about the things of another.
const std::map<std::string, grpc::StatusCode>& Expected() {
  static const auto& expected = *new std::map<std::string, grpc::StatusCode>({
      {"JobService.SubmitJob", FAILED_PRECONDITION},
      {"JobService.ValidateJob", OK},
      {"JobService.GetJob", NOT_FOUND},
      {"JobService.ListJobs", INVALID_ARGUMENT},
      {"JobService.WatchJob", NOT_FOUND},
      {"JobService.WatchJobs", DEADLINE_EXCEEDED},
      {"JobService.CountJobs", OK},
      {"JobService.CancelJob", NOT_FOUND},
      {"JobService.ReadLog", NOT_FOUND},
      {"JobService.ShareJob", NOT_FOUND},
      {"JobService.UnshareJob", NOT_FOUND},
      {"JobService.PinJob", NOT_FOUND},
      {"BlobService.FindMissingBlobs", OK},
      {"BlobService.WriteBlob", OUT_OF_RANGE},
      {"BlobService.QueryWrite", OK},
      {"BlobService.ReadBlob", NOT_FOUND},
      {"WorkerService.Sync", UNIMPLEMENTED},
      {"WorkerService.AppendEvents", UNIMPLEMENTED},
      {"WorkerService.PutLog", UNIMPLEMENTED},
      {"WorkerService.CompleteAttempt", UNIMPLEMENTED},
      {"ServerInfo.GetCapabilities", OK},
  });
  return expected;
}

TEST_F(TenancyTest, TheTableHasEveryMethodOfEveryService) {
  std::set<std::string> methods;
  for (const auto* file :
       {pb::SubmitJobRequest::descriptor()->file(), pb::ReadBlobRequest::descriptor()->file(),
        pb::SyncRequest::descriptor()->file(), pb::GetCapabilitiesRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service_count(); ++i) {
      for (int j = 0; j < file->service(i)->method_count(); ++j) {
        methods.insert(
            absl::StrCat(file->service(i)->name(), ".", file->service(i)->method(j)->name()));
      }
    }
  }
  std::set<std::string> rows;
  for (const Row& row : CallsAbout("", "", {})) {
    rows.insert(row.method);
  }
  EXPECT_EQ(rows, methods) << "a method without a row is a method nobody has tried";
}

TEST_F(TenancyTest, AnotherTenantFindsAndChangesNothing) {
  const std::string nobodys = MakeUuidV7();
  for (const std::string& job : {done_, running_, waiting_}) {
    const std::vector<Row> rows = CallsAbout(job, page_token_, live_);
    const std::vector<Row> about_nothing = CallsAbout(nobodys, page_token_, live_);
    for (size_t i = 0; i < rows.size(); ++i) {
      const grpc::Status status = rows[i].call(*b_);
      EXPECT_EQ(status.error_code(), Expected().at(rows[i].method))
          << rows[i].method << ": " << status.error_message();
      // Nothing in the answer tells that the job is there.
      const grpc::Status nothing = about_nothing[i].call(*b_);
      EXPECT_EQ(nothing.error_code(), status.error_code()) << rows[i].method;
      EXPECT_EQ(absl::StrReplaceAll(status.error_message(), {{job, "X"}}),
                absl::StrReplaceAll(nothing.error_message(), {{nobodys, "X"}}))
          << rows[i].method;
    }
  }
  EXPECT_EQ(StateOf(done_), pb::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(StateOf(running_), pb::JOB_STATE_RUNNING);
  EXPECT_EQ(StateOf(waiting_), pb::JOB_STATE_QUEUED);
  // The agent's lease and the half upload are as they were.
  pb::ReadBlobRequest read;
  read.set_sha256(Sha256Hex("model"));
  *read.mutable_attempt() = live_;
  int frames = 0;
  EXPECT_TRUE(agent_->Read(agent_->blobs, &pb::BlobService::Stub::ReadBlob, read, &frames).ok());
  pb::QueryWriteRequest query;
  query.set_upload_id("half");
  pb::QueryWriteResponse upload;
  EXPECT_TRUE(a_->Call(a_->blobs, &pb::BlobService::Stub::QueryWrite, query, &upload).ok());
  EXPECT_EQ(upload.committed_bytes(), 4);
}

TEST_F(TenancyTest, WithoutAGoodTokenNothingIsAnswered) {
  const std::string unknown = MakeToken().Text();
  std::string forged = tokens_["a"];
  forged.back() = forged.back() == '0' ? '1' : '0';
  for (const std::string& token : {std::string(), std::string("x"), unknown, forged}) {
    const Client client(server_->address(), token);
    pb::ListJobsResponse jobs;
    EXPECT_EQ(client.Call(client.jobs, &pb::JobService::Stub::ListJobs, {}, &jobs).error_code(),
              UNAUTHENTICATED);
    for (const Row& row : CallsAbout(done_, "", live_)) {
      const std::string method = row.method;
      if (method == "JobService.SubmitJob" || method == "JobService.ListJobs" ||
          Expected().at(method) == UNIMPLEMENTED) {
        continue;  // their rows look into an answer; no such method is served here
      }
      EXPECT_EQ(row.call(client).error_code(), UNAUTHENTICATED) << method << " with " << token;
    }
  }
}

TEST_F(TenancyTest, ScopesAreHeldTo) {
  const Client reader(server_->address(), MakeCredential("a", {Scope::kJobsRead}));
  const Client uploader(server_->address(), MakeCredential("a", {Scope::kBlobsWrite}));
  const Client admin(server_->address(), MakeCredential("a", {Scope::kJobsRead, Scope::kAdmin}));
  absl::SleepFor(absl::Milliseconds(1200));  // until the server has read the file again
  pb::Job job;
  EXPECT_TRUE(
      reader.Call(reader.jobs, &pb::JobService::Stub::GetJob, OfJob<pb::GetJobRequest>(done_), &job)
          .ok());
  const auto refused = [&](const Client& client, const grpc::Status& status) {
    static_cast<void>(client);
    EXPECT_EQ(status.error_code(), PERMISSION_DENIED) << status.error_message();
  };
  refused(reader, reader.Call(reader.jobs, &pb::JobService::Stub::CancelJob,
                              OfJob<pb::CancelJobRequest>(waiting_), &job));
  pb::JobShares shares;
  refused(reader, reader.Call(reader.jobs, &pb::JobService::Stub::ShareJob,
                              OfJobAndTenant<pb::ShareJobRequest>(done_), &shares));
  refused(reader, Upload(reader, "x", "x", 1));
  pb::ReadBlobRequest read;
  read.set_sha256(Sha256Hex("model"));
  int frames = 0;
  refused(uploader, uploader.Read(uploader.blobs, &pb::BlobService::Stub::ReadBlob, read, &frames));
  EXPECT_TRUE(Upload(uploader, "x", "x", 1).ok());
  refused(uploader, uploader.Call(uploader.jobs, &pb::JobService::Stub::GetJob,
                                  OfJob<pb::GetJobRequest>(done_), &job));
  EXPECT_EQ(StateOf(waiting_), pb::JOB_STATE_QUEUED);
  pb::GetCapabilitiesResponse info;
  EXPECT_TRUE(admin.Call(admin.info, &pb::ServerInfo::Stub::GetCapabilities, {}, &info).ok());
  EXPECT_EQ(info.workers_size(), 1);
}

TEST_F(TenancyTest, ASharedJobCanBeReadByThatTenantAloneUntilItIsTakenBack) {
  using Jobs = pb::JobService::Stub;
  pb::ShareJobRequest share = OfJob<pb::ShareJobRequest>(done_);
  share.set_tenant("b");
  pb::JobShares shares;
  ASSERT_TRUE(a_->Call(a_->jobs, &Jobs::ShareJob, share, &shares).ok());
  EXPECT_EQ(shares.tenants(0), "b");
  pb::ReadBlobRequest result;
  result.set_sha256(Sha256Hex("result"));
  pb::ReadBlobRequest input;
  input.set_sha256(Sha256Hex("model"));
  // What each tenant may do with it: b while it is shared, c never.
  const auto expect = [&](const Client& client, grpc::StatusCode code) {
    pb::Job job;
    int frames = 0;
    EXPECT_EQ(
        client.Call(client.jobs, &Jobs::GetJob, OfJob<pb::GetJobRequest>(done_), &job).error_code(),
        code);
    EXPECT_EQ(client.Read(client.jobs, &Jobs::WatchJob, OfJob<pb::WatchJobRequest>(done_), &frames)
                  .error_code(),
              code);
    EXPECT_EQ(client.Read(client.jobs, &Jobs::ReadLog, OfJob<pb::ReadLogRequest>(done_), &frames)
                  .error_code(),
              code);
    EXPECT_EQ(
        client.Read(client.blobs, &pb::BlobService::Stub::ReadBlob, result, &frames).error_code(),
        code);
    EXPECT_EQ(job.worker_id(), "");
    // Never: the input, a change, the list, the other jobs.
    EXPECT_EQ(
        client.Read(client.blobs, &pb::BlobService::Stub::ReadBlob, input, &frames).error_code(),
        NOT_FOUND);
    EXPECT_EQ(client.Call(client.jobs, &Jobs::CancelJob, OfJob<pb::CancelJobRequest>(done_), &job)
                  .error_code(),
              NOT_FOUND);
    EXPECT_EQ(
        client
            .Call(client.jobs, &Jobs::ShareJob, OfJobAndTenant<pb::ShareJobRequest>(done_), &shares)
            .error_code(),
        NOT_FOUND);
    EXPECT_EQ(client.Call(client.jobs, &Jobs::GetJob, OfJob<pb::GetJobRequest>(running_), &job)
                  .error_code(),
              NOT_FOUND);
    pb::ListJobsResponse list;
    EXPECT_TRUE(client.Call(client.jobs, &Jobs::ListJobs, {}, &list).ok());
    EXPECT_THAT(list.jobs(), IsEmpty());
  };
  expect(*b_, OK);
  expect(*c_, NOT_FOUND);
  pb::UnshareJobRequest unshare = OfJob<pb::UnshareJobRequest>(done_);
  unshare.set_tenant("b");
  shares.Clear();
  ASSERT_TRUE(a_->Call(a_->jobs, &Jobs::UnshareJob, unshare, &shares).ok());
  EXPECT_THAT(shares.tenants(), IsEmpty());
  expect(*b_, NOT_FOUND);
}

TEST_F(TenancyTest, ARevokedTokenEndsCallsAndOpenStreams) {
  const auto context = b_->Context();
  const std::string job = [&] {
    EXPECT_TRUE(Upload(*b_, "model of b", "u", 10).ok());
    return Submit(*b_, "model of b", 100);
  }();
  const auto reader = b_->jobs->WatchJob(context.get(), OfJob<pb::WatchJobRequest>(job));
  pb::WatchJobResponse frame;
  ASSERT_TRUE(reader->Read(&frame));
  QB_ASSERT_OK(
      EditCredentialFile(CredentialFilePath(Options().data_dir), [](std::vector<Credential>& all) {
        for (Credential& credential : all) {
          credential.revoked_ms = credential.tenant == "b" ? 1 : 0;
        }
        return absl::OkStatus();
      }));
  WaitUntilRefused(*b_);
  const pb::AttemptKey key = Lease().key();  // a new event of the job wakes the stream
  while (reader->Read(&frame)) {
    ADD_FAILURE() << frame.ShortDebugString();
  }
  EXPECT_EQ(reader->Finish().error_code(), UNAUTHENTICATED);
  EXPECT_EQ(StateOf(done_), pb::JOB_STATE_SUCCEEDED);  // a goes on
}

TEST_F(TenancyTest, AnAgentReachesFilesOnlyThroughAnAttemptThatItHolds) {
  pb::ReadBlobRequest read;
  read.set_sha256(Sha256Hex("model"));
  int frames = 0;
  const auto code = [&] {
    return agent_->Read(agent_->blobs, &pb::BlobService::Stub::ReadBlob, read, &frames)
        .error_code();
  };
  EXPECT_EQ(code(), PERMISSION_DENIED);
  *read.mutable_attempt() = live_;
  EXPECT_EQ(code(), OK);
  read.mutable_attempt()->set_fence(live_.fence() - 1);
  EXPECT_EQ(code(), FAILED_PRECONDITION);
  pb::ListJobsResponse jobs;
  EXPECT_EQ(agent_->Call(agent_->jobs, &pb::JobService::Stub::ListJobs, {}, &jobs).error_code(),
            UNIMPLEMENTED);
}

}  // namespace
}  // namespace qb::server
