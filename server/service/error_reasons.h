// The reasons that a google.rpc.ErrorInfo of this service may have besides the names of failures
// (core/base/failure.h) and of status codes.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace qb::server {

struct ErrorReason {
  absl::string_view name;  // starts the message of a Status, ": " follows
  absl::StatusCode code;   // with which it comes
};

// In the order of their names.
absl::Span<const ErrorReason> AllErrorReasons();

// Whether an answer of this service may have the reason: one of the above, the name of a failure,
// or, where programs need to know no more, the name of the status code.
bool IsKnownReason(absl::string_view reason);

}  // namespace qb::server
