// How jobs come into the database and how clients end them.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_writer.h"

namespace qb::server {

// JobStore::Submit in a transaction. `max_waiting`: jobs of a tenant that may wait where
// the job does not say; 0: no limit.
absl::StatusOr<SubmitOutcome> SubmitJob(WriteTx& tx, const NewJob& job, int64_t max_waiting);
// JobStore::RequestCancel in a transaction.
absl::StatusOr<CancelOutcome> CancelJob(WriteTx& tx, absl::string_view tenant,
                                        absl::string_view job_id, absl::string_view reason,
                                        int64_t now_ms);
// Rows of up to 500 jobs that have waited longer than their queue_ttl.
absl::StatusOr<std::vector<int64_t>> FindExpired(SqliteConnection& db, int64_t now_ms);
// Ends one of them, if it still waits.
absl::Status ExpireJob(WriteTx& tx, int64_t job, int64_t now_ms);

}  // namespace qb::server
