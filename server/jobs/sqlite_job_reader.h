// Jobs and events as the protocol shows them, read from their rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_connection.h"

namespace qb::server {

// Errors: NotFound.
absl::StatusOr<pb::Job> ReadJob(SqliteConnection& db, absl::string_view tenant,
                                absl::string_view job_id);
absl::StatusOr<JobPosition> ReadPosition(SqliteConnection& db, absl::string_view tenant,
                                         absl::string_view job_id);
// AlreadyExists when the request_id has another fingerprint.
absl::StatusOr<std::optional<pb::Job>> ReadRequest(SqliteConnection& db, absl::string_view tenant,
                                                   absl::string_view request_id,
                                                   absl::string_view fingerprint);
absl::StatusOr<JobPage> ReadPage(SqliteConnection& db, const JobQuery& query);
absl::StatusOr<ChangedJobs> ReadChangedRows(SqliteConnection& db, const JobQuery& query,
                                            int64_t revision);
absl::StatusOr<std::map<pb::JobState, int64_t>> ReadCounts(SqliteConnection& db,
                                                           absl::string_view tenant);
// JobStore::ReadEvents for the job in row `job`. Errors: NotFound.
absl::StatusOr<std::vector<pb::JobEvent>> ReadEventRows(SqliteConnection& db, int64_t job,
                                                        int64_t after_seq, int max_events,
                                                        int64_t max_bytes);

}  // namespace qb::server
