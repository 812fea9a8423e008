#include "client/cpp/connection.h"

#include <utility>

#include "core/base/check.h"
#include "proto/qbc/v1/blob_service.pb.h"
#include "proto/qbc/v1/job_service.pb.h"
#include "proto/qbc/v1/server_info.pb.h"

namespace qb::client {

Connection::Connection(std::unique_ptr<Stub> stub, ConnectionOptions options)
    : stub_(std::move(stub)), options_(std::move(options)) {}

Backoff Connection::NewBackoff() const {
  return Backoff(options_.retry, options_.interruption, options_.on_retry);
}

CallOptions Connection::StreamOptions() const {
  return CallOptions{.interruption = options_.interruption};
}

template <typename Response>
absl::StatusOr<Response> Connection::Retry(
    Interruption* interruption,
    absl::FunctionRef<absl::StatusOr<Response>(const CallOptions&)> call) {
  Backoff backoff(options_.retry, interruption, options_.on_retry);
  const CallOptions call_options = {.timeout = options_.call_timeout, .interruption = interruption};
  while (true) {
    absl::StatusOr<Response> response = call(call_options);
    if (response.ok()) {
      return response;
    }
    if (absl::Status status = backoff.WaitAfter(response.status()); !status.ok()) {
      return status;
    }
  }
}

absl::StatusOr<qbc::v1::SubmitJobResponse> Connection::SubmitJob(
    const qbc::v1::SubmitJobRequest& request) {
  QB_CHECK(!request.request_id().empty());
  return Retry<qbc::v1::SubmitJobResponse>(options_.interruption, [&](const CallOptions& options) {
    return stub_->SubmitJob(request, options);
  });
}

absl::StatusOr<qbc::v1::ValidateJobResponse> Connection::ValidateJob(
    const qbc::v1::ValidateJobRequest& request) {
  return Retry<qbc::v1::ValidateJobResponse>(
      options_.interruption,
      [&](const CallOptions& options) { return stub_->ValidateJob(request, options); });
}

absl::StatusOr<qbc::v1::Job> Connection::GetJob(const qbc::v1::GetJobRequest& request) {
  return Retry<qbc::v1::Job>(options_.interruption, [&](const CallOptions& options) {
    return stub_->GetJob(request, options);
  });
}

absl::StatusOr<qbc::v1::ListJobsResponse> Connection::ListJobs(
    const qbc::v1::ListJobsRequest& request) {
  return Retry<qbc::v1::ListJobsResponse>(options_.interruption, [&](const CallOptions& options) {
    return stub_->ListJobs(request, options);
  });
}

absl::StatusOr<qbc::v1::FindMissingBlobsResponse> Connection::FindMissingBlobs(
    const qbc::v1::FindMissingBlobsRequest& request) {
  return Retry<qbc::v1::FindMissingBlobsResponse>(
      options_.interruption,
      [&](const CallOptions& options) { return stub_->FindMissingBlobs(request, options); });
}

absl::StatusOr<qbc::v1::QueryWriteResponse> Connection::QueryWrite(
    const qbc::v1::QueryWriteRequest& request) {
  return Retry<qbc::v1::QueryWriteResponse>(options_.interruption, [&](const CallOptions& options) {
    return stub_->QueryWrite(request, options);
  });
}

absl::StatusOr<qbc::v1::GetCapabilitiesResponse> Connection::GetCapabilities() {
  return Retry<qbc::v1::GetCapabilitiesResponse>(
      options_.interruption,
      [&](const CallOptions& options) { return stub_->GetCapabilities(options); });
}

absl::StatusOr<qbc::v1::JobShares> Connection::SetShare(const std::string& job_id,
                                                        const std::string& tenant, bool shared) {
  qbc::v1::ShareJobRequest share;
  share.set_job_id(job_id);
  share.set_tenant(tenant);
  qbc::v1::UnshareJobRequest unshare;
  unshare.set_job_id(job_id);
  unshare.set_tenant(tenant);
  return Retry<qbc::v1::JobShares>(options_.interruption, [&](const CallOptions& options) {
    return shared ? stub_->ShareJob(share, options) : stub_->UnshareJob(unshare, options);
  });
}

absl::StatusOr<qbc::v1::Job> Connection::SetPin(const std::string& job_id, bool pinned) {
  qbc::v1::PinJobRequest request;
  request.set_job_id(job_id);
  request.set_pinned(pinned);
  return Retry<qbc::v1::Job>(options_.interruption, [&](const CallOptions& options) {
    return stub_->PinJob(request, options);
  });
}

absl::StatusOr<qbc::v1::Job> Connection::CancelJob(const qbc::v1::CancelJobRequest& request) {
  return Retry<qbc::v1::Job>(
      nullptr, [&](const CallOptions& options) { return stub_->CancelJob(request, options); });
}

}  // namespace qb::client
