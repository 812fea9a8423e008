#include "server/jobs/sqlite_retention.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/status_macros.h"
#include "server/jobs/job_state.h"
#include "server/jobs/sqlite_inputs.h"

namespace qb::server {
namespace {

// Users wait for the commit, and a job may have inputs by the thousand.
constexpr absl::Duration kLongestStep = absl::Milliseconds(20);
// What is done at least, however many wait: else removing would never end on a busy server.
constexpr absl::Duration kShortestStep = absl::Milliseconds(2);

struct EndedJob {
  int64_t id = 0;
  int64_t execution = 0;
};

absl::Status FindEnded(SqliteConnection& db, pb::JobState state, int64_t before_ms, int limit,
                       std::vector<EndedJob>& found) {
  // The last two conditions are those of the index job_ended, word for word.
  SqliteQuery query = db.Prepare(
      "SELECT id, execution FROM job WHERE state = ? AND finished_ms <= ? AND state >= 10 AND "
      "pinned = 0 ORDER BY finished_ms LIMIT ?");
  query.Int(state).Int(before_ms).Int(limit);
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return absl::OkStatus();
    }
    found.push_back({query.IntAt(0), query.IntAt(1)});
  }
}

// Numbers are not given twice: logs and keys of agents are named by them.
absl::Status RememberLast(SqliteConnection& db, const char* key, int64_t id) {
  return db.Prepare("UPDATE meta SET value = max(value, ?) WHERE key = ?").Int(id).Text(key).Run();
}

absl::StatusOr<bool> IsNeeded(SqliteConnection& db, int64_t execution) {
  SqliteQuery query = db.Prepare(
      "SELECT EXISTS (SELECT 1 FROM job WHERE execution = ?) OR EXISTS (SELECT 1 FROM result_cache "
      "WHERE execution = ?)");
  query.Int(execution).Int(execution);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  return row && query.IntAt(0) != 0;
}

absl::Status RemoveRowsOf(SqliteConnection& db, int64_t execution) {
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM artifact WHERE execution = ?").Int(execution).Run());
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM event WHERE execution = ?").Int(execution).Run());
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM attempt WHERE execution = ?").Int(execution).Run());
  QB_RETURN_IF_ERROR(RememberLast(db, "last_execution", execution));
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM execution WHERE id = ?").Int(execution).Run());
  // 2: a folder of logs, to be removed after the commit.
  return db.Prepare("INSERT INTO doomed(kind, name) VALUES (2, ?)")
      .Text(absl::StrCat(execution))
      .Run();
}

// Removes work that nobody refers to any more.
absl::Status RemoveIfUnneeded(SqliteConnection& db, int64_t execution, int64_t now_ms) {
  QB_ASSIGN_OR_RETURN(const bool needed, IsNeeded(db, execution));
  if (needed) {
    return absl::OkStatus();
  }
  SqliteQuery query = db.Prepare("SELECT tenant, state FROM execution WHERE id = ?");
  query.Int(execution);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row || !IsTerminal(static_cast<pb::JobState>(query.IntAt(1)))) {
    return absl::OkStatus();
  }
  const std::string tenant(query.TextAt(0));
  QB_RETURN_IF_ERROR(query.Run());
  QB_RETURN_IF_ERROR(
      db.Prepare("UPDATE blob_ref SET used_ms = max(used_ms, ?) WHERE tenant = ? AND sha256 IN "
                 "(SELECT sha256 FROM artifact WHERE execution = ?)")
          .Int(now_ms)
          .Text(tenant)
          .Int(execution)
          .Run());
  QB_RETURN_IF_ERROR(DropInputs(db, {execution, tenant}, now_ms));
  return RemoveRowsOf(db, execution);
}

// False: it has been pinned since it was found, or is gone.
absl::StatusOr<bool> RemoveJob(SqliteConnection& db, const EndedJob& job, int64_t now_ms) {
  SqliteQuery query = db.Prepare("SELECT 1 FROM job WHERE id = ? AND pinned = 0");
  query.Int(job.id);
  QB_ASSIGN_OR_RETURN(const bool there, query.Step());
  if (!there) {
    return false;
  }
  QB_RETURN_IF_ERROR(query.Run());
  QB_RETURN_IF_ERROR(RememberLast(db, "last_job", job.id));
  QB_RETURN_IF_ERROR(db.Prepare("DELETE FROM job WHERE id = ?").Int(job.id).Run());
  QB_RETURN_IF_ERROR(RemoveIfUnneeded(db, job.execution, now_ms));
  return true;
}

}  // namespace

absl::StatusOr<int> SqliteRetention::RemoveEndedJobs(const RetentionPolicy& policy, int64_t now_ms,
                                                     int limit) {
  // Reads first: nearly always there is nothing to do, and then nothing is written.
  std::vector<EndedJob> ended;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    for (const pb::JobState state : AllJobStates()) {
      const int room = limit - static_cast<int>(ended.size());
      if (IsTerminal(state) && room > 0) {
        QB_RETURN_IF_ERROR(FindEnded(db, state, now_ms - policy.KeepMs(state), room, ended));
      }
    }
    return absl::OkStatus();
  }));
  int removed = 0;
  if (!ended.empty()) {
    QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
      const absl::Time start = absl::Now();
      for (const EndedJob& job : ended) {
        QB_ASSIGN_OR_RETURN(const bool gone, RemoveJob(tx.db, job, now_ms));
        removed += gone ? 1 : 0;
        const absl::Duration taken = absl::Now() - start;
        if (taken >= kLongestStep || (taken >= kShortestStep && database_.writer().OthersWait())) {
          break;
        }
      }
      return absl::OkStatus();
    }));
  }
  return removed;
}

absl::StatusOr<int> SqliteRetention::RemoveOldResults(const RetentionPolicy& policy, int64_t now_ms,
                                                      int limit) {
  const int64_t before_ms = now_ms - policy.results_ms;
  bool any = false;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare("SELECT 1 FROM result_cache WHERE used_ms <= ? LIMIT 1");
    query.Int(before_ms);
    QB_ASSIGN_OR_RETURN(any, query.Step());
    return absl::OkStatus();
  }));
  std::vector<int64_t> executions;
  if (any) {
    QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
      SqliteQuery query = tx.db.Prepare(
          "DELETE FROM result_cache WHERE (tenant, action, compiler_build) IN (SELECT tenant, "
          "action, compiler_build FROM result_cache WHERE used_ms <= ? ORDER BY used_ms LIMIT ?) "
          "RETURNING execution");
      query.Int(before_ms).Int(limit);
      while (true) {
        QB_ASSIGN_OR_RETURN(const bool row, query.Step());
        if (!row) {
          break;
        }
        executions.push_back(query.IntAt(0));
      }
      for (const int64_t execution : executions) {
        QB_RETURN_IF_ERROR(RemoveIfUnneeded(tx.db, execution, now_ms));
      }
      return absl::OkStatus();
    }));
  }
  return static_cast<int>(executions.size());
}

absl::StatusOr<std::vector<int64_t>> SqliteRetention::ListDoomedLogs(int limit) {
  std::vector<int64_t> executions;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query =
        db.Prepare("SELECT CAST(name AS INTEGER) FROM doomed WHERE kind = 2 LIMIT ?");
    query.Int(limit);
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) {
        return absl::OkStatus();
      }
      executions.push_back(query.IntAt(0));
    }
  }));
  return executions;
}

absl::Status SqliteRetention::ForgetDoomedLogs(absl::Span<const int64_t> executions) {
  return database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    for (const int64_t execution : executions) {
      QB_RETURN_IF_ERROR(tx.db.Prepare("DELETE FROM doomed WHERE kind = 2 AND name = ?")
                             .Text(absl::StrCat(execution))
                             .Run());
    }
    return absl::OkStatus();
  });
}

}  // namespace qb::server
