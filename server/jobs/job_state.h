// The states of a job and the ways between them.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "proto/qbc/v1/job.pb.h"

namespace qb::server {

namespace pb = ::qbc::v1;

// Every state but UNSPECIFIED.
absl::Span<const pb::JobState> AllJobStates();
// SUCCEEDED, FAILED, CANCELLED, EXPIRED.
bool IsTerminal(pb::JobState state);
// QUEUED and RETRY_WAIT: an attempt may be leased.
bool IsWaiting(pb::JobState state);
// May a job go from `from` to `to`? A new job comes from UNSPECIFIED.
bool MayChange(pb::JobState from, pb::JobState to);
// "QUEUED", ...
absl::string_view JobStateWord(pb::JobState state);

}  // namespace qb::server
