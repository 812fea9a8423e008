// Everything that the HTTP listener answers: health, metrics, the read API, the dashboard.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/http/http_message.h"
#include "server/http/http_router.h"
#include "server/http/job_api.h"
#include "server/http/sessions.h"

namespace qb::server {

struct SiteParts {
  ApiParts api;
  Sessions& sessions;  // outlives the site
  // OK, or why not. May be called by several threads at a time.
  std::function<absl::Status()> alive;                   // else the process should be started again
  std::function<absl::Status()> ready;                   // else no new jobs should be sent here
  std::function<absl::StatusOr<std::string>()> metrics;  // in Prometheus' text format
};

HttpRouter MakeRouter(const SiteParts& parts);
// MakeRouter behind the guard.
HttpHandler MakeSite(const SiteParts& parts);

}  // namespace qb::server
