#include "server/jobs/sqlite_execution.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/sqlite_sharing.h"
#include "server/jobs/wire_time.h"

namespace qb::server {
namespace {

constexpr char kSelectExecution[] =
    "SELECT id, tenant, state, attempt, fence, losses, last_seq, cancel_reason, action, "
    "compiler_build, deaths FROM execution WHERE id = ?";

// State of the execution and of the jobs that hang on it; those that left it keep theirs.
absl::Status SetState(WriteTx& tx, ExecutionRow& row, pb::JobState state, int64_t now_ms) {
  if (!MayChange(row.state, state)) {
    return absl::InternalError(absl::StrCat("execution ", row.id, ": no way from ",
                                            JobStateWord(row.state), " to ", JobStateWord(state)));
  }
  row.state = state;
  tx.moved.ids.push_back(row.id);
  tx.notice.jobs_changed = true;
  SqliteQuery execution =
      tx.db.Prepare("UPDATE execution SET state = ?, finished_ms = ? WHERE id = ?");
  execution.Int(state);
  if (IsTerminal(state)) {
    execution.Int(now_ms);
  } else {
    execution.Null();
  }
  QB_RETURN_IF_ERROR(execution.Int(row.id).Run());
  SqliteQuery jobs = tx.db.Prepare(
      "UPDATE job SET state = ?, finished_ms = ? WHERE execution = ? AND detached_seq IS NULL");
  jobs.Int(state);
  if (IsTerminal(state)) {
    jobs.Int(now_ms);
  } else {
    jobs.Null();
  }
  return jobs.Int(row.id).Run();
}

std::string CancelMessage(const ExecutionRow& row) {
  return row.cancel_reason.empty() ? "cancelled on request"
                                   : absl::StrCat("cancelled on request: ", row.cancel_reason);
}

}  // namespace

absl::StatusOr<ExecutionRow> LoadExecution(SqliteConnection& db, int64_t id) {
  SqliteQuery query = db.Prepare(kSelectExecution);
  query.Int(id);
  QB_ASSIGN_OR_RETURN(const bool found, query.Step());
  if (!found) {
    return absl::NotFoundError(absl::StrCat("no execution ", id));
  }
  ExecutionRow row;
  row.id = query.IntAt(0);
  row.tenant = std::string(query.TextAt(1));
  row.state = static_cast<pb::JobState>(query.IntAt(2));
  row.attempt = static_cast<int32_t>(query.IntAt(3));
  row.fence = query.IntAt(4);
  row.losses = query.IntAt(5);
  row.last_seq = query.IntAt(6);
  row.cancel_reason = std::string(query.TextAt(7));
  row.action = std::string(query.TextAt(8));
  row.compiler_build = std::string(query.TextAt(9));
  row.deaths = query.IntAt(10);
  return row;
}

absl::StatusOr<ExecutionRow> LoadCurrent(SqliteConnection& db, const AttemptKey& key) {
  absl::StatusOr<ExecutionRow> row = LoadExecution(db, key.execution);
  if (row.status().code() != absl::StatusCode::kNotFound) {
    QB_RETURN_IF_ERROR(row.status());
  }
  const bool live =
      row.ok() && (row->state == pb::JOB_STATE_RUNNING || row->state == pb::JOB_STATE_CANCELLING);
  if (!live || row->attempt != key.attempt || row->fence != key.fence) {
    return absl::FailedPreconditionError(absl::StrCat("STALE_ATTEMPT: execution ", key.execution,
                                                      " attempt ", key.attempt, " with fence ",
                                                      key.fence, " is not the current one"));
  }
  return row;
}

absl::Status AddEvent(WriteTx& tx, ExecutionRow& row, int32_t attempt, int64_t now_ms,
                      pb::JobEvent event) {
  event.set_seq(row.last_seq + 1);
  event.set_attempt(attempt);
  SetTime(now_ms, event.mutable_time());
  QB_RETURN_IF_ERROR(tx.db.Prepare("INSERT INTO event(execution, seq, body) VALUES (?, ?, ?)")
                         .Int(row.id)
                         .Int(event.seq())
                         .Blob(event.SerializeAsString())
                         .Run());
  row.last_seq = event.seq();
  tx.notice.executions.push_back(row.id);
  return tx.db.Prepare("UPDATE execution SET last_seq = ? WHERE id = ?")
      .Int(row.last_seq)
      .Int(row.id)
      .Run();
}

absl::Status EnterState(WriteTx& tx, ExecutionRow& row, pb::JobState state, int64_t now_ms,
                        absl::string_view reason) {
  QB_RETURN_IF_ERROR(SetState(tx, row, state, now_ms));
  QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET wait_reason = ? WHERE id = ?")
                         .Text(IsWaiting(state) ? reason : "")
                         .Int(row.id)
                         .Run());
  pb::JobEvent event;
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_reason(std::string(reason));
  return AddEvent(tx, row, row.attempt, now_ms, std::move(event));
}

absl::Status Succeed(WriteTx& tx, ExecutionRow& row, const Completion& completion) {
  QB_RETURN_IF_ERROR(SetState(tx, row, pb::JOB_STATE_SUCCEEDED, completion.now_ms));
  pb::JobEvent event;
  int64_t position = 0;
  for (const pb::Artifact& artifact : completion.artifacts) {
    QB_RETURN_IF_ERROR(
        tx.db
            .Prepare("INSERT INTO artifact(execution, position, name, sha256, size_bytes) "
                     "VALUES (?, ?, ?, ?, ?)")
            .Int(row.id)
            .Int(position++)
            .Text(artifact.name())
            .Text(artifact.sha256())
            .Int(artifact.size_bytes())
            .Run());
    *event.mutable_result()->add_artifacts() = artifact;
  }
  QB_RETURN_IF_ERROR(RememberResult(tx, row, completion));
  QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET result_json = ? WHERE id = ?")
                         .Text(completion.result_json)
                         .Int(row.id)
                         .Run());
  event.mutable_result()->set_result_json(completion.result_json);
  return AddEvent(tx, row, row.attempt, completion.now_ms, std::move(event));
}

absl::Status EndWithFailure(WriteTx& tx, ExecutionRow& row, pb::JobState state, int64_t now_ms,
                            const pb::JobFailure& failure) {
  QB_RETURN_IF_ERROR(SetState(tx, row, state, now_ms));
  QB_RETURN_IF_ERROR(
      tx.db.Prepare("UPDATE execution SET failure = ?, wait_reason = '' WHERE id = ?")
          .Blob(failure.SerializeAsString())
          .Int(row.id)
          .Run());
  pb::JobEvent event;
  event.mutable_error()->set_state(state);
  *event.mutable_error()->mutable_failure() = failure;
  return AddEvent(tx, row, row.attempt, now_ms, std::move(event));
}

absl::Status EndAttempt(WriteTx& tx, const ExecutionRow& row, AttemptEnd end,
                        pb::AttemptOutcome outcome, int64_t now_ms) {
  return tx.db
      .Prepare(
          "UPDATE attempt SET state = ?, outcome = ?, ended_ms = ? "
          "WHERE execution = ? AND attempt = ?")
      .Int(static_cast<int>(end))
      .Int(outcome)
      .Int(now_ms)
      .Int(row.id)
      .Int(row.attempt)
      .Run();
}

absl::Status LoseWorker(WriteTx& tx, ExecutionRow& row, const RetryPolicy& policy,
                        const AttemptLoss& loss) {
  if (row.state != pb::JOB_STATE_CANCELLING) {
    ++row.deaths;
    QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET deaths = ? WHERE id = ?")
                           .Int(row.deaths)
                           .Int(row.id)
                           .Run());
    if (row.deaths >= policy.max_deaths) {
      return EndWithFailure(
          tx, row, pb::JOB_STATE_FAILED, loss.now_ms,
          MakeFailure(FailureCode::kPoison,
                      absl::StrCat("attempt ", row.attempt, ": ", loss.reason, "; ", row.deaths,
                                   " workers went away while they ran this job: it is not tried "
                                   "again unless it is submitted again")));
    }
  }
  return LoseAttempt(tx, row, policy, loss);
}

absl::Status LoseAttempt(WriteTx& tx, ExecutionRow& row, const RetryPolicy& policy,
                         const AttemptLoss& loss) {
  const int64_t now_ms = loss.now_ms;
  if (row.state == pb::JOB_STATE_CANCELLING) {
    return EndWithFailure(tx, row, pb::JOB_STATE_CANCELLED, now_ms,
                          MakeFailure(FailureCode::kCancelled, CancelMessage(row)));
  }
  ++row.losses;
  QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET losses = ? WHERE id = ?")
                         .Int(row.losses)
                         .Int(row.id)
                         .Run());
  if (row.losses > policy.max_losses) {
    return EndWithFailure(
        tx, row, pb::JOB_STATE_FAILED, now_ms,
        MakeFailure(loss.code,
                    absl::StrCat("attempt ", row.attempt, ": ", loss.reason, "; this was loss ",
                                 row.losses, ", a job survives ", policy.max_losses)));
  }
  // Doubling by shifts; the cap bounds the shift as well.
  const int64_t shift = std::min<int64_t>(row.losses - 1, 30);
  const int64_t longest_ms = std::min(policy.max_wait_ms, policy.base_wait_ms << shift);
  const int64_t run_after_ms =
      now_ms + static_cast<int64_t>(loss.random * static_cast<double>(longest_ms));
  QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET run_after_ms = ? WHERE id = ?")
                         .Int(run_after_ms)
                         .Int(row.id)
                         .Run());
  tx.notice.leasable_from_ms =
      std::min(tx.notice.leasable_from_ms.value_or(run_after_ms), run_after_ms);
  return EnterState(tx, row, pb::JOB_STATE_RETRY_WAIT, now_ms, loss.reason);
}

}  // namespace qb::server
