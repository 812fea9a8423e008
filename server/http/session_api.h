// Signing in and out of the dashboard.
#pragma once

#include "server/http/http_router.h"
#include "server/http/job_api.h"
#include "server/http/sessions.h"

namespace qb::server {

// /api/v1/session: POST with the header Authorization makes a session of a credential, GET says
// whose it is, DELETE ends it. The token travels in a header only: never in an address, which logs
// and histories keep. `sessions` outlives the router.
void AddSessionRoutes(Sessions& sessions, const Authenticate& authenticate, HttpRouter& router);

}  // namespace qb::server
