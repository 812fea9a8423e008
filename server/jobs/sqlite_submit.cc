#include "server/jobs/sqlite_submit.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/sqlite_access_index.h"
#include "server/jobs/sqlite_attempts.h"
#include "server/jobs/sqlite_execution.h"
#include "server/jobs/sqlite_inputs.h"
#include "server/jobs/sqlite_job_reader.h"
#include "server/jobs/sqlite_sharing.h"
#include "server/jobs/wire_time.h"

namespace qb::server {
namespace {

absl::Status CheckRoom(SqliteConnection& db, absl::string_view tenant, int64_t max_waiting) {
  SqliteQuery query =
      db.Prepare("SELECT ifnull(sum(n), 0) FROM counter WHERE tenant = ? AND state IN (1, 3)");
  query.Text(tenant);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (row && max_waiting > 0 && query.IntAt(0) >= max_waiting) {
    return absl::ResourceExhaustedError(absl::StrCat("queue: ", max_waiting,
                                                     " jobs are waiting, no more are accepted; "
                                                     "submit again when some have ended"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> InsertExecution(WriteTx& tx, const NewJob& job, bool shared) {
  SqliteQuery insert = tx.db.Prepare(
      "INSERT INTO execution(id, tenant, state, priority, enqueued_ms, run_after_ms, expires_ms, "
      "target, spec, resolved_config, run_timeout_ms, cpus, memory_bytes, gpus, scratch_bytes, "
      "prefers_gpu, action) VALUES (1 + max(ifnull((SELECT max(id) FROM execution), 0), (SELECT "
      "value FROM meta WHERE key = 'last_execution')), ?, 0, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
      "?, ?)");
  insert.Text(job.tenant)
      .Int(job.spec.priority())
      .Int(job.now_ms)
      .Int(job.now_ms + ToMs(job.spec.queue_ttl()))
      .Text(job.spec.target_device())
      .Blob(job.spec.SerializeAsString())
      .Text(job.resolved_config_json)
      .Int(ToMs(job.spec.run_timeout()))
      .Int(job.needs.cpus)
      .Int(job.needs.memory_bytes)
      .Int(job.needs.gpus)
      .Int(job.needs.scratch_bytes)
      .Int(job.prefers_gpu ? 1 : 0);
  if (shared) {
    insert.Text(job.action);
  } else {
    insert.Null();
  }
  QB_RETURN_IF_ERROR(insert.Run());
  return tx.db.LastInsertRow();
}

absl::Status InsertJob(WriteTx& tx, const NewJob& job, int64_t execution, pb::JobState state,
                       JobJoin join) {
  tx.notice.jobs_changed = true;
  SqliteQuery insert = tx.db.Prepare(
      "INSERT INTO job(id, uid, tenant, execution, state, target, created_ms, priority, "
      "expires_ms, joined, traceparent, request_id, request_fingerprint, spec, finished_ms) "
      "VALUES (1 + max(ifnull((SELECT max(id) FROM job), 0), (SELECT value FROM meta WHERE key = "
      "'last_job')), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.Text(job.id)
      .Text(job.tenant)
      .Int(execution)
      .Int(state)
      .Text(job.spec.target_device())
      .Int(job.now_ms)
      .Int(job.spec.priority())
      .Int(job.now_ms + ToMs(job.spec.queue_ttl()))
      .Int(static_cast<int>(join))
      .Text(job.traceparent);
  if (job.request_id.empty()) {
    insert.Null().Null();
  } else {
    insert.Text(job.request_id).Text(job.request_fingerprint);
  }
  if (join == JobJoin::kFirst) {
    insert.Null();
  } else {
    insert.Blob(job.spec.SerializeAsString());
  }
  if (join == JobJoin::kCached) {
    insert.Int(job.now_ms);
  } else {
    insert.Null();
  }
  return insert.Run();
}

// True when `job` now hangs on work that was there before it.
absl::StatusOr<bool> TryToShare(WriteTx& tx, const NewJob& job) {
  if (job.spec.cache_policy() != pb::CACHE_POLICY_REFRESH) {
    QB_ASSIGN_OR_RETURN(const std::optional<int64_t> cached, FindCached(tx, job));
    if (cached.has_value()) {
      QB_RETURN_IF_ERROR(InsertJob(tx, job, *cached, pb::JOB_STATE_SUCCEEDED, JobJoin::kCached));
      return true;
    }
  }
  QB_ASSIGN_OR_RETURN(const std::optional<int64_t> in_flight, FindInFlight(tx, job));
  if (!in_flight.has_value()) {
    return false;
  }
  QB_ASSIGN_OR_RETURN(const ExecutionRow row, LoadExecution(tx.db, *in_flight));
  QB_RETURN_IF_ERROR(InsertJob(tx, job, row.id, row.state, JobJoin::kInFlight));
  QB_RETURN_IF_ERROR(FollowJobs(tx, row.id));
  return true;
}

absl::Status StartOwnWork(WriteTx& tx, const NewJob& job, bool shared) {
  QB_ASSIGN_OR_RETURN(const int64_t execution, InsertExecution(tx, job, shared));
  // In the same transaction: no file can go between the look at it and the job that names it.
  QB_RETURN_IF_ERROR(AddInputs(tx.db, {execution, job.tenant}, job.spec));
  QB_RETURN_IF_ERROR(InsertJob(tx, job, execution, pb::JOB_STATE_UNSPECIFIED, JobJoin::kFirst));
  QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, execution));
  QB_RETURN_IF_ERROR(EnterState(tx, row, pb::JOB_STATE_QUEUED, job.now_ms, ""));
  tx.notice.leasable_from_ms = 0;
  return absl::OkStatus();
}

// Ends the work together with the last job that wants it; returns the attempt that must be told.
absl::StatusOr<std::optional<LiveAttempt>> CancelExecution(WriteTx& tx, ExecutionRow& row,
                                                           absl::string_view reason,
                                                           const EarlyEnd& end) {
  if (IsWaiting(row.state) || row.state == pb::JOB_STATE_RUNNING) {
    QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET cancel_reason = ? WHERE id = ?")
                           .Text(reason)
                           .Int(row.id)
                           .Run());
  }
  if (IsWaiting(row.state)) {
    QB_RETURN_IF_ERROR(EndWithFailure(tx, row, end.state, end.now_ms, end.failure));
  } else if (row.state == pb::JOB_STATE_RUNNING) {
    QB_RETURN_IF_ERROR(EnterState(tx, row, pb::JOB_STATE_CANCELLING, end.now_ms, reason));
  }
  if (row.state != pb::JOB_STATE_CANCELLING) {
    return std::nullopt;
  }
  QB_ASSIGN_OR_RETURN(LeasedAttempt leased,
                      ReadLeaseRows(tx.db, AttemptKey{row.id, row.attempt, row.fence}));
  return std::move(leased.attempt);
}

}  // namespace

absl::StatusOr<SubmitOutcome> SubmitJob(WriteTx& tx, const NewJob& job, int64_t max_waiting) {
  SubmitOutcome out;
  QB_RETURN_IF_ERROR(EnsureTenant(tx.db, job.tenant, job.now_ms));
  if (!job.request_id.empty()) {
    // In the same transaction as the insert: two requests at once cannot both miss it.
    QB_ASSIGN_OR_RETURN(std::optional<pb::Job> known,
                        ReadRequest(tx.db, job.tenant, job.request_id, job.request_fingerprint));
    if (known.has_value()) {
      out.job = *std::move(known);
      out.replayed = true;
      return out;
    }
  }
  const bool shared = !job.action.empty() && job.spec.cache_policy() != pb::CACHE_POLICY_BYPASS;
  bool done = false;
  if (shared) {
    QB_ASSIGN_OR_RETURN(done, TryToShare(tx, job));
  }
  if (!done) {
    QB_RETURN_IF_ERROR(CheckRoom(tx.db, job.tenant, job.max_waiting.value_or(max_waiting)));
    QB_RETURN_IF_ERROR(StartOwnWork(tx, job, shared));
  }
  QB_ASSIGN_OR_RETURN(out.job, ReadJob(tx.db, job.tenant, job.id));
  return out;
}

absl::StatusOr<CancelOutcome> CancelJob(WriteTx& tx, absl::string_view tenant,
                                        absl::string_view job_id, absl::string_view reason,
                                        int64_t now_ms) {
  CancelOutcome out;
  QB_ASSIGN_OR_RETURN(const JobPosition position, ReadPosition(tx.db, tenant, job_id));
  if (!IsTerminal(position.state)) {
    const EarlyEnd end = {
        pb::JOB_STATE_CANCELLED, now_ms,
        MakeFailure(FailureCode::kCancelled, reason.empty()
                                                 ? std::string("cancelled on request")
                                                 : absl::StrCat("cancelled on request: ", reason))};
    QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, position.execution));
    QB_ASSIGN_OR_RETURN(const bool others, HasOtherJobs(tx.db, row.id, position.job));
    if (others) {
      QB_RETURN_IF_ERROR(LeaveExecution(tx, row, position.job, end));
    } else {
      QB_ASSIGN_OR_RETURN(out.running, CancelExecution(tx, row, reason, end));
    }
  }
  QB_ASSIGN_OR_RETURN(out.job, ReadJob(tx.db, tenant, job_id));
  return out;
}

absl::StatusOr<std::vector<int64_t>> FindExpired(SqliteConnection& db, int64_t now_ms) {
  // `state = 1` stands here as in the index: QUEUED. A job that has had an attempt never expires.
  SqliteQuery query = db.Prepare(
      "SELECT job.id FROM job JOIN execution AS e ON e.id = job.execution "
      "WHERE job.state = 1 AND job.expires_ms <= ? AND e.attempt = 0 LIMIT 500");
  query.Int(now_ms);
  std::vector<int64_t> jobs;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return jobs;
    }
    jobs.push_back(query.IntAt(0));
  }
}

absl::Status ExpireJob(WriteTx& tx, int64_t job, int64_t now_ms) {
  SqliteQuery query = tx.db.Prepare("SELECT execution, state FROM job WHERE id = ?");
  query.Int(job);
  QB_ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found || query.IntAt(1) != pb::JOB_STATE_QUEUED) {
    return absl::OkStatus();
  }
  QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, query.IntAt(0)));
  if (row.attempt != 0) {
    return absl::OkStatus();  // leased since it was found
  }
  const EarlyEnd end = {
      pb::JOB_STATE_EXPIRED, now_ms,
      MakeFailure(FailureCode::kQueueExpired, "no worker took the job within its queue_ttl")};
  QB_ASSIGN_OR_RETURN(const bool others, HasOtherJobs(tx.db, row.id, job));
  return others ? LeaveExecution(tx, row, job, end)
                : EndWithFailure(tx, row, end.state, now_ms, end.failure);
}

}  // namespace qb::server
