#include "server/service/server_info.h"

#include <set>
#include <utility>

#include "core/base/status_macros.h"

namespace qb::server {

absl::Status ServerInfo::GetCapabilities(const Caller& caller,
                                         qbc::v1::GetCapabilitiesResponse& response) {
  QB_RETURN_IF_ERROR(Authorize(caller, {ResourceKind::kServer, caller.tenant}, Verb::kRead));
  response = fixed_;
  std::set<std::string> builds;
  for (qbc::v1::WorkerSummary& worker : dispatcher_.ListWorkers()) {
    if (!worker.compiler_build().empty()) {
      builds.insert(worker.compiler_build());
    }
    *response.add_workers() = std::move(worker);
  }
  for (const std::string& build : builds) {
    response.add_compiler_builds(build);
  }
  return absl::OkStatus();
}

}  // namespace qb::server
