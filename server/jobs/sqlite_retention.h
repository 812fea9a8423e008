// Removes the rows of what is kept no longer, in small transactions between those of the users.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "server/jobs/retention_policy.h"
#include "server/jobs/sqlite_database.h"

namespace qb::server {

// Thread-safe. Calls wait for the disk. Work goes with its last job, unless its result still
// answers others; its inputs and results are unused files from then on.
class SqliteRetention {
 public:
  // `database` outlives it.
  explicit SqliteRetention(SqliteDatabase& database) : database_(database) {}

  // Some of the jobs whose time is over and that are not pinned: at most `limit`, fewer when they are
  // large. Returns how many went; 0: there are no more.
  absl::StatusOr<int> RemoveEndedJobs(const RetentionPolicy& policy, int64_t now_ms, int limit);
  // The same for results that have answered no job for `policy.results_ms`.
  absl::StatusOr<int> RemoveOldResults(const RetentionPolicy& policy, int64_t now_ms, int limit);

  // Executions that are gone and whose logs are to be removed from the disk; at most `limit`.
  absl::StatusOr<std::vector<int64_t>> ListDoomedLogs(int limit);
  // Their logs are gone.
  absl::Status ForgetDoomedLogs(absl::Span<const int64_t> executions);

 private:
  SqliteDatabase& database_;
};

}  // namespace qb::server
