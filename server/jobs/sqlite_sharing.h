// Jobs that share work: joining an execution, leaving it, results that are kept for later jobs.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_execution.h"
#include "server/jobs/sqlite_writer.h"

namespace qb::server {

// How a job came to its execution. Frozen: in the database.
enum class JobJoin { kFirst = 0, kInFlight = 1, kCached = 2 };

// Errors: FailedPrecondition "MISSING_BLOB" when the tenant has no such stored file.
absl::Status CheckArtifacts(SqliteConnection& db, absl::string_view tenant,
                            absl::Span<const pb::Artifact> artifacts);

// The ended execution whose result answers `job`, if there is one whose files are still stored.
absl::StatusOr<std::optional<int64_t>> FindCached(WriteTx& tx, const NewJob& job);
// The execution under way that `job` may join. One whose attempt runs another compiler build than
// those of `job` is passed over and gives up its name, so that the job's own execution can have it.
absl::StatusOr<std::optional<int64_t>> FindInFlight(WriteTx& tx, const NewJob& job);

// Offers the result of `row` to later jobs, or, when an earlier result of the same work has other
// bytes, keeps that one and adds a warning to the events.
absl::Status RememberResult(WriteTx& tx, ExecutionRow& row, const Completion& completion);

// Whether jobs other than `job` wait for the execution.
absl::StatusOr<bool> HasOtherJobs(SqliteConnection& db, int64_t execution, int64_t job);
// How a job ends before its execution has.
struct EarlyEnd {
  pb::JobState state;
  int64_t now_ms;
  pb::JobFailure failure;
};
// Ends `job` alone: its execution goes on for the others.
absl::Status LeaveExecution(WriteTx& tx, const ExecutionRow& row, int64_t job, const EarlyEnd& end);
// Priority and patience of the execution are the highest of its jobs.
absl::Status FollowJobs(WriteTx& tx, int64_t execution);

}  // namespace qb::server
