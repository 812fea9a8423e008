#include "server/service/error_reasons.h"

#include <algorithm>
#include <array>

#include "core/base/failure.h"

namespace qb::server {
namespace {

constexpr auto kReasons = std::to_array<ErrorReason>({
    {"DISK_LOW", absl::StatusCode::kResourceExhausted},
    {"MISSING_BLOB", absl::StatusCode::kFailedPrecondition},
    {"OPEN_STREAMS_LIMIT", absl::StatusCode::kResourceExhausted},
    {"OVERLOADED", absl::StatusCode::kUnavailable},
    {"PARALLEL_UPLOADS_LIMIT", absl::StatusCode::kResourceExhausted},
    {"QUEUED_JOBS_LIMIT", absl::StatusCode::kResourceExhausted},
    {"REQUEST_ID_REUSED", absl::StatusCode::kAlreadyExists},
    {"SCOPE_MISSING", absl::StatusCode::kPermissionDenied},
    {"SERVER_DRAINING", absl::StatusCode::kUnavailable},
    {"STALE_ATTEMPT", absl::StatusCode::kFailedPrecondition},
    {"STALE_WORKER", absl::StatusCode::kFailedPrecondition},
    {"STORED_BYTES_LIMIT", absl::StatusCode::kResourceExhausted},
    {"SUBMIT_RATE_LIMIT", absl::StatusCode::kResourceExhausted},
    {"UNAUTHENTICATED", absl::StatusCode::kUnauthenticated},
    {"UPLOAD_RATE_LIMIT", absl::StatusCode::kResourceExhausted},
});

}  // namespace

absl::Span<const ErrorReason> AllErrorReasons() { return kReasons; }

bool IsKnownReason(absl::string_view reason) {
  const bool own = std::any_of(kReasons.begin(), kReasons.end(),
                               [&](const ErrorReason& row) { return row.name == reason; });
  if (own || FailureCodeFromName(reason) != FailureCode::kNone) {
    return true;
  }
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    if (reason == absl::StatusCodeToString(static_cast<absl::StatusCode>(code))) {
      return true;
    }
  }
  return false;
}

}  // namespace qb::server
