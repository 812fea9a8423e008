#include "client/cpp/testing/fake_stub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/watch.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr size_t kReadChunkBytes = 4096;

qbc::v1::Job* FindJob(FakeServer& server, absl::string_view id)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(server.mutex) {
  for (qbc::v1::Job& job : server.jobs) {
    if (job.id() == id) {
      return &job;
    }
  }
  return nullptr;
}

absl::Status NoSuchJob(absl::string_view id) {
  return absl::NotFoundError(absl::StrCat("job '", id, "': no such job"));
}

// The next scripted break, or -1 for none.
int TakeBreak(std::deque<int>& breaks) {
  if (breaks.empty()) {
    return -1;
  }
  const int after = breaks.front();
  breaks.pop_front();
  return after;
}

void Apply(const qbc::v1::JobEvent& event, qbc::v1::Job& job) {
  job.set_last_event_seq(event.seq());
  if (event.has_state()) {
    job.set_state(event.state().state());
  } else if (event.has_progress()) {
    *job.mutable_progress() = event.progress();
  } else if (event.has_result()) {
    job.set_state(qbc::v1::JOB_STATE_SUCCEEDED);
    *job.mutable_artifacts() = event.result().artifacts();
    job.set_result_json(event.result().result_json());
  } else if (event.has_error()) {
    job.set_state(event.error().state());
    *job.mutable_failure() = event.error().failure();
  }
}

}  // namespace

void AddFakeEvent(FakeServer& server, const std::string& job_id, qbc::v1::JobEvent event) {
  absl::MutexLock lock(&server.mutex);
  auto& events = server.events[job_id];
  event.set_seq(static_cast<int64_t>(events.size()) + 1);
  if (qbc::v1::Job* job = FindJob(server, job_id); job != nullptr) {
    Apply(event, *job);
  }
  events.push_back(std::move(event));
}

void FinishFakeJob(FakeServer& server, const std::string& job_id, const std::string& mxq_bytes) {
  qbc::v1::JobEvent running;
  running.mutable_state()->set_state(qbc::v1::JOB_STATE_RUNNING);
  AddFakeEvent(server, job_id, running);
  for (const char* phase : {"import", "calibrate"}) {
    qbc::v1::JobEvent begin;
    begin.mutable_phase()->set_phase(phase);
    AddFakeEvent(server, job_id, begin);
    qbc::v1::JobEvent progress;
    progress.mutable_progress()->set_phase(phase);
    progress.mutable_progress()->set_done(1);
    progress.mutable_progress()->set_total(4);
    progress.mutable_progress()->set_unit("sample");
    progress.mutable_progress()->set_fraction(0.25);
    AddFakeEvent(server, job_id, progress);
  }
  qbc::v1::JobEvent result;
  qbc::v1::Artifact& artifact = *result.mutable_result()->add_artifacts();
  artifact.set_name("model.mxq");
  artifact.set_sha256(Sha256Hex(mxq_bytes));
  artifact.set_size_bytes(static_cast<int64_t>(mxq_bytes.size()));
  result.mutable_result()->set_result_json("{\"type\":\"result\"}");
  {
    absl::MutexLock lock(&server.mutex);
    server.blobs[artifact.sha256()] = mxq_bytes;
  }
  AddFakeEvent(server, job_id, result);
}

void FailFakeJob(FakeServer& server, const std::string& job_id, qbc::v1::FailureReason reason,
                 const std::string& reason_name, const std::string& message) {
  qbc::v1::JobEvent error;
  error.mutable_error()->set_state(qbc::v1::JOB_STATE_FAILED);
  error.mutable_error()->mutable_failure()->set_reason(reason);
  error.mutable_error()->mutable_failure()->set_reason_name(reason_name);
  error.mutable_error()->mutable_failure()->set_message(message);
  AddFakeEvent(server, job_id, error);
}

absl::Status FakeStub::Begin(const std::string& method, const CallOptions& options) {
  absl::MutexLock lock(&server_->mutex);
  ++server_->calls[method];
  if (options.interruption != nullptr && options.interruption->raised()) {
    return absl::CancelledError("interrupted");
  }
  std::deque<absl::Status>& scripted = server_->failures[method];
  if (scripted.empty()) {
    return absl::OkStatus();
  }
  absl::Status status = std::move(scripted.front());
  scripted.pop_front();
  return status;
}

absl::StatusOr<qbc::v1::SubmitJobResponse> FakeStub::SubmitJob(
    const qbc::v1::SubmitJobRequest& request, const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("SubmitJob", options));
  qbc::v1::SubmitJobResponse response;
  {
    absl::MutexLock lock(&server_->mutex);
    std::string& id = server_->job_of_request[request.request_id()];
    if (!id.empty()) {
      *response.mutable_job() = *FindJob(*server_, id);
      response.set_replayed(true);
      return response;
    }
    for (const qbc::v1::ManifestEntry& entry : request.spec().model().entries()) {
      if (!server_->blobs.contains(entry.sha256())) {
        return absl::FailedPreconditionError(absl::StrCat("missing blob ", entry.sha256()));
      }
    }
    id = absl::StrCat("job-", server_->jobs.size() + 1);
    qbc::v1::Job job;
    job.set_id(id);
    job.set_state(qbc::v1::JOB_STATE_QUEUED);
    *job.mutable_spec() = request.spec();
    server_->jobs.push_back(job);
    *response.mutable_job() = job;
  }
  qbc::v1::JobEvent queued;
  queued.mutable_state()->set_state(qbc::v1::JOB_STATE_QUEUED);
  AddFakeEvent(*server_, response.job().id(), queued);
  if (server_->on_submit) {
    server_->on_submit(response.job());
  }
  return response;
}

absl::StatusOr<qbc::v1::ValidateJobResponse> FakeStub::ValidateJob(
    const qbc::v1::ValidateJobRequest& request, const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("ValidateJob", options));
  absl::MutexLock lock(&server_->mutex);
  server_->validated = request.spec();
  return server_->validation;
}

absl::StatusOr<qbc::v1::Job> FakeStub::GetJob(const qbc::v1::GetJobRequest& request,
                                              const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("GetJob", options));
  absl::MutexLock lock(&server_->mutex);
  const qbc::v1::Job* job = FindJob(*server_, request.job_id());
  return job != nullptr ? absl::StatusOr<qbc::v1::Job>(*job) : NoSuchJob(request.job_id());
}

absl::StatusOr<qbc::v1::ListJobsResponse> FakeStub::ListJobs(
    const qbc::v1::ListJobsRequest& request, const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("ListJobs", options));
  absl::MutexLock lock(&server_->mutex);
  qbc::v1::ListJobsResponse response;
  // The token is the id of the last job of the page before.
  bool found = request.page_token().empty();
  const int page_size = request.page_size() > 0 ? request.page_size() : 50;
  for (auto job = server_->jobs.rbegin(); job != server_->jobs.rend(); ++job) {
    const auto& states = request.filter().states();
    const bool wanted =
        states.empty() || std::find(states.begin(), states.end(), job->state()) != states.end();
    if (found && wanted) {
      if (response.jobs_size() == page_size) {
        response.set_next_page_token(response.jobs(page_size - 1).id());
        break;
      }
      *response.add_jobs() = *job;
    }
    found = found || job->id() == request.page_token();
  }
  return response;
}

absl::StatusOr<qbc::v1::Job> FakeStub::CancelJob(const qbc::v1::CancelJobRequest& request,
                                                 const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("CancelJob", options));
  {
    absl::MutexLock lock(&server_->mutex);
    const qbc::v1::Job* job = FindJob(*server_, request.job_id());
    if (job == nullptr) {
      return NoSuchJob(request.job_id());
    }
    if (IsTerminalState(job->state())) {
      return *job;
    }
  }
  qbc::v1::JobEvent event;
  event.mutable_error()->set_state(qbc::v1::JOB_STATE_CANCELLED);
  event.mutable_error()->mutable_failure()->set_reason(qbc::v1::FAILURE_REASON_CANCELLED);
  event.mutable_error()->mutable_failure()->set_reason_name("CANCELLED");
  event.mutable_error()->mutable_failure()->set_message(request.reason());
  AddFakeEvent(*server_, request.job_id(), event);
  absl::MutexLock lock(&server_->mutex);
  return *FindJob(*server_, request.job_id());
}

absl::StatusOr<qbc::v1::Job> FakeStub::PinJob(const qbc::v1::PinJobRequest& request,
                                              const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("PinJob", options));
  absl::MutexLock lock(&server_->mutex);
  qbc::v1::Job* job = FindJob(*server_, request.job_id());
  if (job == nullptr) {
    return NoSuchJob(request.job_id());
  }
  job->set_pinned(request.pinned());
  if (request.pinned()) {
    job->clear_expire_time();
  } else if (IsTerminalState(job->state())) {
    job->mutable_expire_time()->set_seconds(kFakeExpireSeconds);
  }
  return *job;
}

absl::StatusOr<qbc::v1::JobShares> FakeStub::ShareJob(const qbc::v1::ShareJobRequest& request,
                                                      const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("ShareJob", options));
  absl::MutexLock lock(&server_->mutex);
  if (FindJob(*server_, request.job_id()) == nullptr) {
    return NoSuchJob(request.job_id());
  }
  std::set<std::string>& readers = server_->shares[request.job_id()];
  readers.insert(request.tenant());
  qbc::v1::JobShares response;
  response.mutable_tenants()->Add(readers.begin(), readers.end());
  return response;
}

absl::StatusOr<qbc::v1::JobShares> FakeStub::UnshareJob(const qbc::v1::UnshareJobRequest& request,
                                                        const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("UnshareJob", options));
  absl::MutexLock lock(&server_->mutex);
  if (FindJob(*server_, request.job_id()) == nullptr) {
    return NoSuchJob(request.job_id());
  }
  std::set<std::string>& readers = server_->shares[request.job_id()];
  readers.erase(request.tenant());
  qbc::v1::JobShares response;
  response.mutable_tenants()->Add(readers.begin(), readers.end());
  return response;
}

absl::StatusOr<qbc::v1::FindMissingBlobsResponse> FakeStub::FindMissingBlobs(
    const qbc::v1::FindMissingBlobsRequest& request, const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("FindMissingBlobs", options));
  absl::MutexLock lock(&server_->mutex);
  qbc::v1::FindMissingBlobsResponse response;
  for (const qbc::v1::BlobRef& blob : request.blobs()) {
    if (!server_->blobs.contains(blob.sha256())) {
      *response.add_missing() = blob;
    }
  }
  return response;
}

absl::StatusOr<qbc::v1::QueryWriteResponse> FakeStub::QueryWrite(
    const qbc::v1::QueryWriteRequest& request, const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("QueryWrite", options));
  absl::MutexLock lock(&server_->mutex);
  qbc::v1::QueryWriteResponse response;
  response.set_complete(server_->blobs.contains(request.sha256()));
  response.set_committed_bytes(static_cast<int64_t>(server_->partial[request.upload_id()].size()));
  return response;
}

absl::StatusOr<qbc::v1::GetCapabilitiesResponse> FakeStub::GetCapabilities(
    const CallOptions& options) {
  QB_RETURN_IF_ERROR(Begin("GetCapabilities", options));
  qbc::v1::GetCapabilitiesResponse response;
  response.set_api_version("qbc.v1");
  response.set_server_version("9.9.9");
  response.add_targets("aries-rb");
  response.set_tenant("team-a");
  response.add_scopes("jobs:read");
  return response;
}

absl::Status FakeStub::WatchJob(
    const qbc::v1::WatchJobRequest& request, const CallOptions& options,
    absl::FunctionRef<bool(const qbc::v1::WatchJobResponse&)> on_response) {
  QB_RETURN_IF_ERROR(Begin("WatchJob", options));
  int break_after = -1;
  {
    absl::MutexLock lock(&server_->mutex);
    if (FindJob(*server_, request.job_id()) == nullptr) {
      return NoSuchJob(request.job_id());
    }
    break_after = TakeBreak(server_->break_watches_after);
  }
  auto next = static_cast<size_t>(request.after_seq());
  for (int sent = 0; sent != break_after; ++sent) {
    if (options.interruption != nullptr && options.interruption->raised()) {
      return absl::CancelledError("interrupted");
    }
    qbc::v1::WatchJobResponse response;
    bool ended = false;
    {
      absl::MutexLock lock(&server_->mutex);
      const auto& events = server_->events[request.job_id()];
      ended = IsTerminalState(FindJob(*server_, request.job_id())->state());
      if (next < events.size()) {
        *response.add_events() = events[next++];
      } else if (ended) {
        return absl::OkStatus();
      }
    }
    if (response.events().empty() && server_->on_watch_idle) {
      server_->on_watch_idle(request.job_id());
    } else if (response.events().empty()) {
      break;
    }
    if (!on_response(response)) {
      return absl::OkStatus();
    }
  }
  return absl::UnavailableError("connection lost");
}

absl::Status FakeStub::ReadLog(
    const qbc::v1::ReadLogRequest&, const CallOptions& options,
    absl::FunctionRef<absl::Status(const qbc::v1::ReadLogResponse&)> on_response) {
  QB_RETURN_IF_ERROR(Begin("ReadLog", options));
  qbc::v1::ReadLogResponse response;
  response.set_data("a line of the log\n");
  return on_response(response);
}

absl::Status FakeStub::ReadBlob(
    const qbc::v1::ReadBlobRequest& request, const CallOptions& options,
    absl::FunctionRef<absl::Status(const qbc::v1::ReadBlobResponse&)> on_response) {
  QB_RETURN_IF_ERROR(Begin("ReadBlob", options));
  std::string bytes;
  int break_after = -1;
  {
    absl::MutexLock lock(&server_->mutex);
    const auto blob = server_->blobs.find(request.sha256());
    if (blob == server_->blobs.end()) {
      return absl::NotFoundError("no such blob");
    }
    bytes = blob->second;
    break_after = TakeBreak(server_->break_reads_after);
  }
  auto offset = static_cast<size_t>(request.offset());
  for (int sent = 0; offset < bytes.size(); ++sent) {
    if (sent == break_after) {
      return absl::UnavailableError("connection lost");
    }
    qbc::v1::ReadBlobResponse response;
    response.set_offset(static_cast<int64_t>(offset));
    response.set_data(bytes.substr(offset, kReadChunkBytes));
    response.set_total_size_bytes(static_cast<int64_t>(bytes.size()));
    offset += response.data().size();
    QB_RETURN_IF_ERROR(on_response(response));
  }
  return absl::OkStatus();
}

absl::StatusOr<qbc::v1::WriteBlobResponse> FakeStub::WriteBlob(
    const qbc::v1::WriteBlobHeader& header, const CallOptions& options,
    absl::FunctionRef<absl::Status(std::string*)> next_chunk) {
  QB_RETURN_IF_ERROR(Begin("WriteBlob", options));
  int break_after = -1;
  {
    absl::MutexLock lock(&server_->mutex);
    const size_t stored = server_->partial[header.upload_id()].size();
    if (static_cast<size_t>(header.offset()) > stored) {
      return absl::OutOfRangeError("offset is beyond what is stored");
    }
    server_->partial[header.upload_id()].resize(static_cast<size_t>(header.offset()));
    break_after = TakeBreak(server_->break_writes_after);
  }
  std::string chunk;
  for (int received = 0;; ++received) {
    QB_RETURN_IF_ERROR(next_chunk(&chunk));
    if (received == break_after) {
      return absl::UnavailableError("connection lost");
    }
    if (chunk.empty()) {
      break;
    }
    absl::MutexLock lock(&server_->mutex);
    server_->partial[header.upload_id()] += chunk;
    server_->received_bytes += static_cast<int64_t>(chunk.size());
  }
  absl::MutexLock lock(&server_->mutex);
  const std::string bytes = std::exchange(server_->partial[header.upload_id()], "");
  if (Sha256Hex(bytes) != header.sha256()) {
    return absl::InvalidArgumentError("the bytes have another digest");
  }
  server_->blobs[header.sha256()] = bytes;
  qbc::v1::WriteBlobResponse response;
  response.set_committed_bytes(header.size_bytes());
  response.set_complete(true);
  return response;
}

}  // namespace qb::client
