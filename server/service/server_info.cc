#include "server/service/server_info.h"

#include <set>
#include <utility>

#include "core/base/status_macros.h"

namespace qb::server {

absl::Status ServerInfo::GetCapabilities(const Caller& caller,
                                         qbc::v1::GetCapabilitiesResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kServer, caller.tenant}, Verb::kRead));
  response = fixed_;
  response.set_tenant(caller.tenant);
  for (const std::string& name : caller.scopes.Names()) {
    response.add_scopes(name);
  }
  // What else runs here, and where, is the operator's business.
  const bool sees_workers =
      Authorize(caller, {ResourceKind::kWorkers, caller.tenant}, Verb::kRead).ok();
  std::set<std::string> builds;
  for (qbc::v1::WorkerSummary& worker : dispatcher_.ListWorkers()) {
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
