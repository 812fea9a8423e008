// Refusals that pass by themselves: what a program learns from them besides their text.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace qb::server {

// Payloads, each a serialized message of google.rpc; on the wire they become details of the
// google.rpc.Status.
inline constexpr char kQuotaFailurePayload[] = "type.googleapis.com/google.rpc.QuotaFailure";
inline constexpr char kRetryInfoPayload[] = "type.googleapis.com/google.rpc.RetryInfo";

// A limit of a tenant is reached.
struct QuotaRefusal {
  absl::string_view reason;       // "SUBMIT_RATE_LIMIT": starts the message, names the ErrorInfo
  absl::string_view tenant;
  std::string description;        // which limit, and how much of it is used
  absl::Duration retry_after;     // at least; the caller has added its jitter
};

// ResourceExhausted with a QuotaFailure for "tenant:NAME" and a RetryInfo.
absl::Status Refuse(const QuotaRefusal& refusal);

// Adds a RetryInfo: the same call may succeed after `retry_after`.
absl::Status WithRetryAfter(absl::Status status, absl::Duration retry_after);

}  // namespace qb::server
