// A compile server in memory, for tests of everything above the stub.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

#include "client/cpp/stub.h"
#include "proto/qbc/v1/blob_service.pb.h"
#include "proto/qbc/v1/job_service.pb.h"
#include "proto/qbc/v1/server_info.pb.h"

namespace qb::client {

// When jobs that are not pinned are removed: the year 2100.
constexpr int64_t kFakeExpireSeconds = 4'102'444'800;

// What the server knows. Tests fill it and look at it; share it between stubs to model a restart.
struct FakeServer {
  absl::Mutex mutex;
  std::map<std::string, std::string> blobs ABSL_GUARDED_BY(mutex);    // by SHA-256
  std::map<std::string, std::string> partial ABSL_GUARDED_BY(mutex);  // by upload_id
  std::vector<qbc::v1::Job> jobs ABSL_GUARDED_BY(mutex);              // oldest first
  std::map<std::string, std::string> job_of_request ABSL_GUARDED_BY(mutex);
  std::map<std::string, std::vector<qbc::v1::JobEvent>> events ABSL_GUARDED_BY(mutex);
  // Statuses with which the next calls of a method fail, e.g. calls["SubmitJob"].
  std::map<std::string, std::deque<absl::Status>> failures ABSL_GUARDED_BY(mutex);
  std::map<std::string, int> calls ABSL_GUARDED_BY(mutex);
  // What ValidateJob answers, and what it was asked last.
  qbc::v1::ValidateJobResponse validation ABSL_GUARDED_BY(mutex);
  qbc::v1::JobSpec validated ABSL_GUARDED_BY(mutex);
  // Breaks an upload (or download, or watch) off with Unavailable after so many chunks, once each.
  std::deque<int> break_writes_after ABSL_GUARDED_BY(mutex);
  std::deque<int> break_reads_after ABSL_GUARDED_BY(mutex);
  std::deque<int> break_watches_after ABSL_GUARDED_BY(mutex);
  std::map<std::string, std::set<std::string>> shares ABSL_GUARDED_BY(mutex);  // of a job
  int64_t received_bytes ABSL_GUARDED_BY(mutex) = 0;
  // Runs when a watch has delivered all events and the job has not ended; it may append some. When
  // it appends none, the stream breaks off.
  std::function<void(const std::string& job_id)> on_watch_idle;
  // Runs after a job was accepted, without the lock: gives it its events.
  std::function<void(const qbc::v1::Job& job)> on_submit;
};

// Appends an event with the next seq and follows its effect on the job's state.
void AddFakeEvent(FakeServer& server, const std::string& job_id, qbc::v1::JobEvent event);

// The usual course of a good job: running, two phases with progress, a result with one artifact.
void FinishFakeJob(FakeServer& server, const std::string& job_id, const std::string& mxq_bytes);

// The usual course of a bad one.
void FailFakeJob(FakeServer& server, const std::string& job_id, qbc::v1::FailureReason reason,
                 const std::string& reason_name, const std::string& message);

class FakeStub final : public Stub {
 public:
  explicit FakeStub(FakeServer* server) : server_(server) {}

  absl::StatusOr<qbc::v1::SubmitJobResponse> SubmitJob(const qbc::v1::SubmitJobRequest& request,
                                                       const CallOptions& options) override;
  absl::StatusOr<qbc::v1::ValidateJobResponse> ValidateJob(
      const qbc::v1::ValidateJobRequest& request, const CallOptions& options) override;
  absl::StatusOr<qbc::v1::Job> GetJob(const qbc::v1::GetJobRequest& request,
                                      const CallOptions& options) override;
  absl::StatusOr<qbc::v1::ListJobsResponse> ListJobs(const qbc::v1::ListJobsRequest& request,
                                                     const CallOptions& options) override;
  absl::StatusOr<qbc::v1::Job> CancelJob(const qbc::v1::CancelJobRequest& request,
                                         const CallOptions& options) override;
  absl::StatusOr<qbc::v1::JobShares> ShareJob(const qbc::v1::ShareJobRequest& request,
                                              const CallOptions& options) override;
  absl::StatusOr<qbc::v1::JobShares> UnshareJob(const qbc::v1::UnshareJobRequest& request,
                                                const CallOptions& options) override;
  absl::StatusOr<qbc::v1::Job> PinJob(const qbc::v1::PinJobRequest& request,
                                      const CallOptions& options) override;
  absl::StatusOr<qbc::v1::FindMissingBlobsResponse> FindMissingBlobs(
      const qbc::v1::FindMissingBlobsRequest& request, const CallOptions& options) override;
  absl::StatusOr<qbc::v1::QueryWriteResponse> QueryWrite(const qbc::v1::QueryWriteRequest& request,
                                                         const CallOptions& options) override;
  absl::StatusOr<qbc::v1::GetCapabilitiesResponse> GetCapabilities(
      const CallOptions& options) override;
  absl::Status WatchJob(
      const qbc::v1::WatchJobRequest& request, const CallOptions& options,
      absl::FunctionRef<bool(const qbc::v1::WatchJobResponse&)> on_response) override;
  absl::Status ReadLog(
      const qbc::v1::ReadLogRequest& request, const CallOptions& options,
      absl::FunctionRef<absl::Status(const qbc::v1::ReadLogResponse&)> on_response) override;
  absl::Status ReadBlob(
      const qbc::v1::ReadBlobRequest& request, const CallOptions& options,
      absl::FunctionRef<absl::Status(const qbc::v1::ReadBlobResponse&)> on_response) override;
  absl::StatusOr<qbc::v1::WriteBlobResponse> WriteBlob(
      const qbc::v1::WriteBlobHeader& header, const CallOptions& options,
      absl::FunctionRef<absl::Status(std::string*)> next_chunk) override;

 private:
  // Counts the call; the scripted failure when there is one.
  absl::Status Begin(const std::string& method, const CallOptions& options);

  FakeServer* const server_;
};

}  // namespace qb::client
