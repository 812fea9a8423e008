// The operations of worker agents, each inside a transaction of the writer.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "server/jobs/event_filter.h"
#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_execution.h"
#include "server/jobs/sqlite_schedule.h"
#include "server/jobs/sqlite_writer.h"

namespace qb::server {

absl::StatusOr<LeaseOutcome> LeaseWaiting(WriteTx& tx, const LeaseQuery& query,
                                          SqliteSchedule& schedule);
absl::StatusOr<LeasedAttempt> ReadLeaseRows(SqliteConnection& db, const AttemptKey& key);
absl::StatusOr<EventsOutcome> StoreEvents(WriteTx& tx, const AttemptKey& key,
                                          absl::Span<const pb::AttemptEvent> events,
                                          const EventLimits& limits, int64_t now_ms);
// `random` in [0, 1) places the next attempt when this one is to be repeated.
absl::StatusOr<CompletionOutcome> CompleteAttempt(WriteTx& tx, const AttemptKey& key,
                                                  const Completion& completion,
                                                  const RetryPolicy& policy, double random);

}  // namespace qb::server
