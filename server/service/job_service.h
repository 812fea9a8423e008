// Jobs, as clients ask for them, without any network in it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/base/log_line.h"
#include "proto/qbc/v1/job_service.pb.h"
#include "server/auth/authorize.h"
#include "server/blobs/attempt_logs.h"
#include "server/blobs/blob_store.h"
#include "server/dispatch/dispatcher.h"
#include "server/events/watch_hub.h"
#include "server/events/watch_stream.h"
#include "server/jobs/access_index.h"
#include "server/jobs/job_store.h"
#include "server/jobs/retention_policy.h"
#include "server/quota/disk_guard.h"
#include "server/quota/overload.h"
#include "server/quota/tenant_gate.h"
#include "server/runtime/clock.h"
#include "server/runtime/frame_source.h"
#include "server/service/config_cache.h"
#include "server/service/config_resolution.h"
#include "server/service/job_spec_check.h"

namespace qb::server {

struct JobServiceOptions {
  JobLimits limits;
  WatchLimits watch;
  RetentionPolicy retention;  // tells when jobs are removed
  std::vector<std::string> targets;
  int default_page_size = 50;
  int max_page_size = 1000;
  Log log;  // jobs that come and are cancelled
};

// What the service works with; all of them outlive it.
struct JobServiceParts {
  JobStore& store;
  AccessIndex& access;
  BlobStore& blobs;
  AttemptLogs& logs;
  WatchHub& hub;
  Dispatcher& dispatcher;
  TenantGate& gate;
  OverloadGuard& overload;
  const DiskGuard& disk;
  const Clock& clock;
};

// Thread-safe. Calls wait for the store. The comments of job_service.proto say what they do.
class JobService {
 public:
  JobService(const JobServiceParts& parts, JobServiceOptions options);

  // Whether a SubmitJob may be begun; counts it. Does not wait: a refusal costs nothing of what
  // there is too little of. `left`: until the caller's deadline. Errors: PermissionDenied;
  // Unavailable "OVERLOADED"; ResourceExhausted "DISK_LOW" and "SUBMIT_RATE_LIMIT".
  absl::Status AdmitSubmit(const Caller& caller, absl::Duration left);
  // After AdmitSubmit. `traceparent`: the trace that the call belongs to, "": none.
  absl::Status SubmitJob(const Caller& caller, const pb::SubmitJobRequest& request,
                         pb::SubmitJobResponse& response, std::string traceparent = "");
  // From now on new jobs are refused as Unavailable; a request_id that is known gets its job.
  void StopAccepting() { accepting_ = false; }
  absl::Status ValidateJob(const Caller& caller, const pb::ValidateJobRequest& request,
                           pb::ValidateJobResponse& response);
  absl::Status GetJob(const Caller& caller, const pb::GetJobRequest& request, pb::Job& response);
  absl::Status ListJobs(const Caller& caller, const pb::ListJobsRequest& request,
                        pb::ListJobsResponse& response);
  absl::Status CancelJob(const Caller& caller, const pb::CancelJobRequest& request,
                         pb::Job& response);

  // The stream of a WatchJob; `wake` is called when Next is worth another try.
  absl::StatusOr<std::unique_ptr<FrameSource<pb::WatchJobResponse>>> WatchJob(
      const Caller& caller, const pb::WatchJobRequest& request, std::function<void()> wake);
  absl::StatusOr<std::unique_ptr<FrameSource<pb::ReadLogResponse>>> ReadLog(
      const Caller& caller, const pb::ReadLogRequest& request, std::function<void()> wake);
  absl::StatusOr<std::unique_ptr<FrameSource<pb::WatchJobsResponse>>> WatchJobs(
      const Caller& caller, const pb::WatchJobsRequest& request, std::function<void()> wake);
  absl::Status CountJobs(const Caller& caller, const pb::CountJobsRequest& request,
                         pb::CountJobsResponse& response);
  absl::Status ShareJob(const Caller& caller, const pb::ShareJobRequest& request,
                        pb::JobShares& response);
  absl::Status UnshareJob(const Caller& caller, const pb::UnshareJobRequest& request,
                          pb::JobShares& response);
  absl::Status PinJob(const Caller& caller, const pb::PinJobRequest& request, pb::Job& response);

 private:
  // The tenant that owns the job, if the caller may read it: the caller's own or one that shares
  // it. Errors: PermissionDenied without the right to read jobs at all; NotFound.
  absl::StatusOr<std::string> FindReadable(const Caller& caller, const std::string& job_id,
                                           JobPosition& position);
  absl::Status SetShare(const Caller& caller, const std::string& job_id, const std::string& reader,
                        bool shared, pb::JobShares& response);
  // Every check that needs no blob. Returns the resolved settings.
  ResolvedConfig CheckSpec(SpecForm form, pb::JobSpec& spec, std::vector<Violation>& violations);
  // Adds what the store does not know: why nobody runs a job that waits, and when one that has ended
  // is removed.
  void Complete(pb::Job& job) const;
  void ExplainWait(pb::Job& job) const;
  void AddExpireTime(pb::Job& job) const;
  absl::Status CheckInputsStored(const Caller& caller, const pb::JobSpec& spec);

  JobStore& store_;
  AccessIndex& access_;
  BlobStore& blobs_;
  AttemptLogs& logs_;
  WatchHub& hub_;
  Dispatcher& dispatcher_;
  TenantGate& gate_;
  OverloadGuard& overload_;
  const DiskGuard& disk_;
  const Clock& clock_;
  const JobServiceOptions options_;
  std::atomic<bool> accepting_ = true;
  ConfigCache configs_;
};

}  // namespace qb::server
