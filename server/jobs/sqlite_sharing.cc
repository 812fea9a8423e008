#include "server/jobs/sqlite_sharing.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/wire_time.h"

namespace qb::server {
namespace {

bool IsAccepted(const NewJob& job, absl::string_view build) {
  return job.compiler_builds.empty() ||
         std::find(job.compiler_builds.begin(), job.compiler_builds.end(), build) !=
             job.compiler_builds.end();
}

absl::StatusOr<std::vector<pb::Artifact>> ReadArtifactRows(SqliteConnection& db,
                                                           int64_t execution) {
  SqliteQuery query = db.Prepare(
      "SELECT name, sha256, size_bytes FROM artifact WHERE execution = ? ORDER BY position");
  query.Int(execution);
  std::vector<pb::Artifact> artifacts;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return artifacts;
    }
    pb::Artifact& artifact = artifacts.emplace_back();
    artifact.set_name(std::string(query.TextAt(0)));
    artifact.set_sha256(std::string(query.TextAt(1)));
    artifact.set_size_bytes(query.IntAt(2));
  }
}

absl::Status ForgetResult(WriteTx& tx, int64_t execution, const NewJob& job) {
  return tx.db.Prepare("DELETE FROM result_cache WHERE tenant = ? AND action = ? AND execution = ?")
      .Text(job.tenant)
      .Text(job.action)
      .Int(execution)
      .Run();
}

absl::Status KeepResult(WriteTx& tx, int64_t execution, const NewJob& job) {
  return tx.db
      .Prepare(
          "UPDATE result_cache SET used_ms = max(used_ms, ?) WHERE tenant = ? AND action = ? AND "
          "execution = ?")
      .Int(job.now_ms)
      .Text(job.tenant)
      .Text(job.action)
      .Int(execution)
      .Run();
}

absl::StatusOr<std::vector<int64_t>> FindResults(SqliteConnection& db, const NewJob& job) {
  SqliteQuery query = db.Prepare(
      "SELECT execution, compiler_build FROM result_cache WHERE tenant = ? AND action = ? "
      "ORDER BY execution DESC");
  query.Text(job.tenant).Text(job.action);
  std::vector<int64_t> executions;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return executions;
    }
    if (IsAccepted(job, query.TextAt(1))) {
      executions.push_back(query.IntAt(0));
    }
  }
}

bool SameFiles(absl::Span<const pb::Artifact> a, absl::Span<const pb::Artifact> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const pb::Artifact& x, const pb::Artifact& y) {
                      return x.name() == y.name() && x.sha256() == y.sha256();
                    });
}

}  // namespace

absl::Status CheckArtifacts(SqliteConnection& db, absl::string_view tenant,
                            absl::Span<const pb::Artifact> artifacts) {
  for (const pb::Artifact& artifact : artifacts) {
    SqliteQuery query = db.Prepare(
        "SELECT size_bytes FROM blob JOIN blob_ref USING (sha256) WHERE tenant = ? AND sha256 = ?");
    query.Text(tenant).Text(artifact.sha256());
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row || query.IntAt(0) != artifact.size_bytes()) {
      return absl::FailedPreconditionError(
          absl::StrCat("MISSING_BLOB: artifact '", artifact.name(), "' with sha256 ",
                       artifact.sha256(), " and ", artifact.size_bytes(), " bytes is not stored"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int64_t>> FindCached(WriteTx& tx, const NewJob& job) {
  QB_ASSIGN_OR_RETURN(const std::vector<int64_t> executions, FindResults(tx.db, job));
  for (int64_t execution : executions) {
    QB_ASSIGN_OR_RETURN(const std::vector<pb::Artifact> artifacts,
                        ReadArtifactRows(tx.db, execution));
    const absl::Status stored = CheckArtifacts(tx.db, job.tenant, artifacts);
    if (stored.ok()) {
      QB_RETURN_IF_ERROR(KeepResult(tx, execution, job));
      return execution;
    }
    if (stored.code() != absl::StatusCode::kFailedPrecondition) {
      return stored;
    }
    QB_RETURN_IF_ERROR(ForgetResult(tx, execution, job));
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<int64_t>> FindInFlight(WriteTx& tx, const NewJob& job) {
  SqliteQuery query = tx.db.Prepare(
      "SELECT id, state, compiler_build FROM execution "
      "WHERE tenant = ? AND action = ? AND run_timeout_ms = ? AND state IN (1, 2, 3)");
  query.Text(job.tenant).Text(job.action).Int(ToMs(job.spec.run_timeout()));
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return std::nullopt;
  }
  const int64_t execution = query.IntAt(0);
  if (query.IntAt(1) != pb::JOB_STATE_RUNNING || IsAccepted(job, query.TextAt(2))) {
    return execution;
  }
  QB_RETURN_IF_ERROR(query.Run());
  QB_RETURN_IF_ERROR(
      tx.db.Prepare("UPDATE execution SET action = NULL WHERE id = ?").Int(execution).Run());
  return std::nullopt;
}

absl::Status RememberResult(WriteTx& tx, ExecutionRow& row, const Completion& completion) {
  if (row.action.empty()) {
    return absl::OkStatus();
  }
  SqliteQuery query = tx.db.Prepare(
      "SELECT execution FROM result_cache WHERE tenant = ? AND action = ? AND compiler_build = ?");
  query.Text(row.tenant).Text(row.action).Text(row.compiler_build);
  QB_ASSIGN_OR_RETURN(const bool known, query.Step());
  if (!known) {
    return tx.db
        .Prepare(
            "INSERT INTO result_cache(tenant, action, compiler_build, execution, used_ms) "
            "VALUES (?, ?, ?, ?, ?)")
        .Text(row.tenant)
        .Text(row.action)
        .Text(row.compiler_build)
        .Int(row.id)
        .Int(completion.now_ms)
        .Run();
  }
  const int64_t first = query.IntAt(0);
  QB_RETURN_IF_ERROR(query.Run());
  QB_ASSIGN_OR_RETURN(const std::vector<pb::Artifact> kept, ReadArtifactRows(tx.db, first));
  if (SameFiles(kept, completion.artifacts)) {
    return absl::OkStatus();
  }
  pb::JobEvent event;
  event.mutable_log()->set_severity(pb::LOG_SEVERITY_WARNING);
  event.mutable_log()->set_logger("service");
  event.mutable_log()->set_message(
      "nondeterministic_result: the same work had other output files before; later jobs keep "
      "getting the first ones");
  return AddEvent(tx, row, row.attempt, completion.now_ms, std::move(event));
}

absl::StatusOr<bool> HasOtherJobs(SqliteConnection& db, int64_t execution, int64_t job) {
  SqliteQuery query = db.Prepare(
      "SELECT 1 FROM job WHERE execution = ? AND detached_seq IS NULL AND id <> ? LIMIT 1");
  query.Int(execution).Int(job);
  return query.Step();
}

absl::Status LeaveExecution(WriteTx& tx, const ExecutionRow& row, int64_t job,
                            const EarlyEnd& end) {
  pb::JobEvent event;
  event.set_seq(row.last_seq + 1);
  event.set_attempt(row.attempt);
  SetTime(end.now_ms, event.mutable_time());
  event.mutable_error()->set_state(end.state);
  *event.mutable_error()->mutable_failure() = end.failure;
  QB_RETURN_IF_ERROR(
      tx.db
          .Prepare("UPDATE job SET state = ?, finished_ms = ?, failure = ?, detached_seq = ?, "
                   "end_event = ? WHERE id = ?")
          .Int(end.state)
          .Int(end.now_ms)
          .Blob(end.failure.SerializeAsString())
          .Int(row.last_seq)
          .Blob(event.SerializeAsString())
          .Int(job)
          .Run());
  tx.notice.executions.push_back(row.id);
  tx.notice.jobs_changed = true;
  return FollowJobs(tx, row.id);
}

absl::Status FollowJobs(WriteTx& tx, int64_t execution) {
  tx.moved.ids.push_back(execution);
  return tx.db
      .Prepare(
          "UPDATE execution SET (priority, expires_ms) = (SELECT max(priority), "
          "max(expires_ms) FROM job WHERE job.execution = execution.id AND detached_seq IS "
          "NULL) WHERE id = ?")
      .Int(execution)
      .Run();
}

}  // namespace qb::server
