#include "server/service/server_info.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "core/base/status_macros.h"
#include "server/jobs/job_state.h"

namespace qb::server {

absl::Status ServerInfo::AddUsage(const std::string& tenant,
                                  qbc::v1::GetCapabilitiesResponse& response) {
  QB_ASSIGN_OR_RETURN(const auto counts, parts_.store.CountJobs(tenant));
  QB_ASSIGN_OR_RETURN(const TenantStorage storage, parts_.index.ReadStorage(tenant));
  const TenantLimits limits = parts_.limits.For(tenant);
  qbc::v1::TenantUsage* usage = response.mutable_usage();
  for (const auto& [state, count] : counts) {
    if (IsWaiting(state)) {
      usage->set_queued_jobs(usage->queued_jobs() + count);
    } else if (!IsTerminal(state)) {
      usage->set_running_jobs(usage->running_jobs() + count);
    }
  }
  usage->set_max_queued_jobs(limits.max_queued_jobs);
  usage->set_max_running_jobs(limits.max_running_jobs);
  usage->set_blob_bytes(storage.blob_bytes);
  usage->set_max_blob_bytes(limits.max_stored_bytes);
  usage->set_max_submits_per_second(limits.submits_per_second);
  usage->set_max_parallel_uploads(limits.max_parallel_uploads);
  usage->set_max_upload_bytes_per_second(limits.upload_bytes_per_second);
  response.mutable_limits()->set_max_queued_jobs(
      static_cast<int32_t>(std::min<int64_t>(limits.max_queued_jobs, INT32_MAX)));
  return absl::OkStatus();
}

absl::Status ServerInfo::GetCapabilities(const Caller& caller,
                                         qbc::v1::GetCapabilitiesResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kServer, caller.tenant}, Verb::kRead));
  response = fixed_;
  response.set_tenant(caller.tenant);
  for (const std::string& name : caller.scopes.Names()) {
    response.add_scopes(name);
  }
  QB_RETURN_IF_ERROR(AddUsage(caller.tenant, response));
  // What else runs here, and where, is the operator's business.
  const bool sees_workers =
      Authorize(caller, {ResourceKind::kWorkers, caller.tenant}, Verb::kRead).ok();
  std::set<std::string> builds;
  for (qbc::v1::WorkerSummary& worker : parts_.dispatcher.ListWorkers()) {
    if (!worker.compiler_build().empty()) {
      builds.insert(worker.compiler_build());
    }
    response.set_worker_count(response.worker_count() + 1);
    if (sees_workers) {
      *response.add_workers() = std::move(worker);
    }
  }
  for (const std::string& build : builds) {
    response.add_compiler_builds(build);
  }
  return absl::OkStatus();
}

}  // namespace qb::server
