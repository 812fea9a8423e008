// The RPCs of a compile server as plain C++ calls: the seam between this library and gRPC.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "client/cpp/interruption.h"

namespace qbc::v1 {
class CancelJobRequest;
class FindMissingBlobsRequest;
class FindMissingBlobsResponse;
class GetCapabilitiesResponse;
class GetJobRequest;
class Job;
class JobShares;
class ListJobsRequest;
class ListJobsResponse;
class PinJobRequest;
class QueryWriteRequest;
class QueryWriteResponse;
class ReadBlobRequest;
class ReadBlobResponse;
class ReadLogRequest;
class ReadLogResponse;
class ShareJobRequest;
class SubmitJobRequest;
class SubmitJobResponse;
class UnshareJobRequest;
class ValidateJobRequest;
class ValidateJobResponse;
class WatchJobRequest;
class WatchJobResponse;
class WriteBlobHeader;
class WriteBlobResponse;
}  // namespace qbc::v1

namespace qb::client {

// A server, how it proves who it is, and how the caller does.
struct ServerAccess {
  std::string address;
  // PEM files, "": none. TLS is used for every host but this machine, and there too with `tls_ca`.
  std::string tls_ca;    // whose certificates servers may have; "": those of the system
  std::string tls_cert;  // of the caller
  std::string tls_key;
  std::string token;        // "": none
  std::string traceparent;  // W3C trace context of the caller; "": none
};

struct CallOptions {
  // The call ends with DeadlineExceeded after this time.
  absl::Duration timeout = absl::InfiniteDuration();
  // Raising it ends the call with Cancelled. May be null.
  Interruption* interruption = nullptr;
};

// One try of each call, no retries. Thread-safe. Errors are those of the server, each detail of its
// google.rpc.Status as a payload under the type's URL, and Unavailable when it cannot be reached. A
// stream's callback that returns an error (or false) ends the call.
class Stub {
 public:
  virtual ~Stub() = default;

  virtual absl::StatusOr<qbc::v1::SubmitJobResponse> SubmitJob(
      const qbc::v1::SubmitJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::ValidateJobResponse> ValidateJob(
      const qbc::v1::ValidateJobRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::Job> GetJob(const qbc::v1::GetJobRequest& request,
                                              const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::ListJobsResponse> ListJobs(
      const qbc::v1::ListJobsRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::Job> CancelJob(const qbc::v1::CancelJobRequest& request,
                                                 const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::JobShares> ShareJob(const qbc::v1::ShareJobRequest& request,
                                                      const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::JobShares> UnshareJob(const qbc::v1::UnshareJobRequest& request,
                                                        const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::Job> PinJob(const qbc::v1::PinJobRequest& request,
                                              const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::FindMissingBlobsResponse> FindMissingBlobs(
      const qbc::v1::FindMissingBlobsRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::QueryWriteResponse> QueryWrite(
      const qbc::v1::QueryWriteRequest& request, const CallOptions& options) = 0;
  virtual absl::StatusOr<qbc::v1::GetCapabilitiesResponse> GetCapabilities(
      const CallOptions& options) = 0;

  // `on_response` returns false to stop: the call then ends with OK.
  virtual absl::Status WatchJob(
      const qbc::v1::WatchJobRequest& request, const CallOptions& options,
      absl::FunctionRef<bool(const qbc::v1::WatchJobResponse&)> on_response) = 0;
  virtual absl::Status ReadLog(
      const qbc::v1::ReadLogRequest& request, const CallOptions& options,
      absl::FunctionRef<absl::Status(const qbc::v1::ReadLogResponse&)> on_response) = 0;
  virtual absl::Status ReadBlob(
      const qbc::v1::ReadBlobRequest& request, const CallOptions& options,
      absl::FunctionRef<absl::Status(const qbc::v1::ReadBlobResponse&)> on_response) = 0;

  // Sends `header`, then chunks until `next_chunk` leaves its argument empty.
  virtual absl::StatusOr<qbc::v1::WriteBlobResponse> WriteBlob(
      const qbc::v1::WriteBlobHeader& header, const CallOptions& options,
      absl::FunctionRef<absl::Status(std::string*)> next_chunk) = 0;
};

}  // namespace qb::client
