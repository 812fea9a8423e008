// The read side of the service as JSON: the same services as gRPC, asked with the same caller.
#pragma once

#include <functional>

#include "absl/status/statusor.h"

#include "server/auth/authorize.h"
#include "server/http/http_message.h"
#include "server/http/http_router.h"
#include "server/jobs/sqlite_statistics.h"
#include "server/service/blob_service.h"
#include "server/service/job_service.h"
#include "server/service/server_info.h"

namespace qb::server {

// Who asks. Errors: Unauthenticated.
using Authenticate = std::function<absl::StatusOr<Caller>(const HttpRequest&)>;

// Whether an open stream of this caller may go on.
using StillGood = std::function<bool(const Caller&)>;

// All of them outlive the routes.
struct ApiParts {
  JobService& jobs;
  BlobService& blobs;
  ServerInfo& info;
  SqliteStatistics& statistics;
  const Clock& clock;
  Authenticate authenticate;
  StillGood still_good;
};

// Adds every route below /api/v1.
void AddApiRoutes(const ApiParts& parts, HttpRouter& router);

}  // namespace qb::server
