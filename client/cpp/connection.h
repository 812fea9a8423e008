// The unary calls of a server, retried while it is away.
#pragma once

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "client/cpp/interruption.h"
#include "client/cpp/retry.h"
#include "client/cpp/stub.h"

namespace qb::client {

struct ConnectionOptions {
  RetryPolicy retry;
  // Of one try of a unary call.
  absl::Duration call_timeout = absl::Seconds(30);
  // Ends calls and waits. May be null.
  Interruption* interruption = nullptr;
  RetryListener on_retry;
};

// Every call here is idempotent (SubmitJob through its request_id, which must be set), so it is
// tried again on Unavailable and Aborted. Thread-safe. Streams are resumed by those who read them
// (watch_job, transfer): they use stub() and NewBackoff().
class Connection {
 public:
  Connection(std::unique_ptr<Stub> stub, ConnectionOptions options);

  absl::StatusOr<qbc::v1::SubmitJobResponse> SubmitJob(const qbc::v1::SubmitJobRequest& request);
  absl::StatusOr<qbc::v1::ValidateJobResponse> ValidateJob(
      const qbc::v1::ValidateJobRequest& request);
  absl::StatusOr<qbc::v1::Job> GetJob(const qbc::v1::GetJobRequest& request);
  absl::StatusOr<qbc::v1::ListJobsResponse> ListJobs(const qbc::v1::ListJobsRequest& request);
  absl::StatusOr<qbc::v1::FindMissingBlobsResponse> FindMissingBlobs(
      const qbc::v1::FindMissingBlobsRequest& request);
  absl::StatusOr<qbc::v1::QueryWriteResponse> QueryWrite(const qbc::v1::QueryWriteRequest& request);
  absl::StatusOr<qbc::v1::GetCapabilitiesResponse> GetCapabilities();
  // Lets `tenant` read the job, or no longer. Returns who may read it now.
  absl::StatusOr<qbc::v1::JobShares> SetShare(const std::string& job_id, const std::string& tenant,
                                              bool shared);
  // Keeps an ended job beyond its time, or no longer.
  absl::StatusOr<qbc::v1::Job> SetPin(const std::string& job_id, bool pinned);
  // Not ended by the interruption: it is what an interruption may lead to.
  absl::StatusOr<qbc::v1::Job> CancelJob(const qbc::v1::CancelJobRequest& request);

  Stub& stub() const { return *stub_; }
  Interruption* interruption() const { return options_.interruption; }
  Backoff NewBackoff() const;
  // For one try of a stream: interruptible, without a time limit.
  CallOptions StreamOptions() const;

 private:
  template <typename Response>
  absl::StatusOr<Response> Retry(
      Interruption* interruption,
      absl::FunctionRef<absl::StatusOr<Response>(const CallOptions&)> call);

  const std::unique_ptr<Stub> stub_;
  const ConnectionOptions options_;
};

}  // namespace qb::client
