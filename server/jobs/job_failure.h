// Failures as the protocol shows them, filled from the one table in core/base/failure.h.
#pragma once

#include "absl/strings/string_view.h"

#include "core/base/failure.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::server {

// Longest message that is kept, bytes.
inline constexpr size_t kMaxFailureMessageBytes = 4096;

qbc::v1::JobFailure MakeFailure(FailureCode code, absl::string_view message);

// What an agent reported, made consistent: the code from `reason` or else from `reason_name`
// (unknown or none: INTERNAL_ERROR), name, hint and retryable from the table, texts cut to their
// limits.
qbc::v1::JobFailure NormalizeFailure(const qbc::v1::JobFailure& reported);

// At most `max_bytes` of `text`, cut between UTF-8 characters.
absl::string_view CutUtf8(absl::string_view text, size_t max_bytes);

}  // namespace qb::server
