// From what an agent reports to the events and the progress of a job.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "proto/qbc/v1/event.pb.h"
#include "proto/qbc/v1/worker_service.pb.h"

namespace qb::server {

// Takes over what `event` says about the progress of the job; the fraction never goes back.
void FollowProgress(const qbc::v1::AttemptEvent& event, qbc::v1::JobProgress& progress);

// The job's event, without seq, time and attempt. `progress` is that after the event.
qbc::v1::JobEvent ToJobEvent(const qbc::v1::AttemptEvent& event,
                             const qbc::v1::JobProgress& progress);

// The part of `events` that is not stored yet. Errors: OutOfRange for a gap in the numbers.
absl::StatusOr<absl::Span<const qbc::v1::AttemptEvent>> NewOnes(
    absl::Span<const qbc::v1::AttemptEvent> events, int64_t committed_seq);

}  // namespace qb::server
