// Which of an agent's events are worth a row: progress comes faster than anybody reads it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

#include "proto/qbc/v1/worker_service.pb.h"

namespace qb::server {

struct EventLimits {
  // Shortest time between two stored progress events of an attempt. Default 250 ms.
  int64_t min_progress_interval_ms = 250;
  // Stored events of an attempt; beyond it progress and log events are dropped, phases are kept
  // until twice this number. Default 2000.
  int64_t max_events_per_attempt = 2000;
};

// What an attempt has stored so far.
struct EventTally {
  int64_t stored = 0;
  int64_t last_progress_ms = 0;  // wall clock of the last stored progress; 0: none
};

// Returns the indices, ascending, of those of `events` that are to be stored, and brings `tally` up
// to date. Of consecutive progress events only the last one counts; it is kept when the interval
// since the last one has passed, or when it says that the job is done (fraction 1).
std::vector<size_t> SelectEvents(absl::Span<const qbc::v1::AttemptEvent> events, int64_t now_ms,
                                 const EventLimits& limits, EventTally& tally);

}  // namespace qb::server
