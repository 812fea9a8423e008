// Query parameters of the job list.
#pragma once

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job_service.pb.h"
#include "server/http/http_message.h"

namespace qb::server {

// state (repeated: "queued", "failed", ...), target, created_after and created_before (RFC 3339),
// page_size, page_token. Errors: InvalidArgument that names the parameter.
absl::StatusOr<qbc::v1::ListJobsRequest> ParseJobQuery(const HttpRequest& request);

// "" is `fallback`. Errors: InvalidArgument that names the parameter.
absl::StatusOr<int64_t> ParseNumber(const HttpRequest& request, absl::string_view name,
                                    int64_t fallback);

}  // namespace qb::server
