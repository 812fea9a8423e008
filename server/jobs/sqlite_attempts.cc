#include "server/jobs/sqlite_attempts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "server/jobs/attempt_events.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/sqlite_sharing.h"

namespace qb::server {
namespace {

// ---- leases

absl::StatusOr<int64_t> NextFence(SqliteConnection& db) {
  SqliteQuery query =
      db.Prepare("UPDATE meta SET value = value + 1 WHERE key = 'next_fence' RETURNING value - 1");
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return absl::DataLossError("database: meta has no next_fence");
  }
  const int64_t fence = query.IntAt(0);
  QB_RETURN_IF_ERROR(query.Run());
  return fence;
}

absl::StatusOr<AttemptKey> LeaseOne(WriteTx& tx, const LeaseQuery& query,
                                    const WorkQueue::Choice& choice) {
  QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, choice.id));
  QB_ASSIGN_OR_RETURN(row.fence, NextFence(tx.db));
  ++row.attempt;
  QB_RETURN_IF_ERROR(
      tx.db
          .Prepare("UPDATE execution SET attempt = ?, fence = ?, worker = ?, compiler_build = ?, "
                   "progress = NULL, started_ms = ifnull(started_ms, ?) WHERE id = ?")
          .Int(row.attempt)
          .Int(row.fence)
          .Text(query.worker_id)
          .Text(query.compiler_build)
          .Int(query.now_ms)
          .Int(row.id)
          .Run());
  QB_RETURN_IF_ERROR(tx.db
                         .Prepare("INSERT INTO attempt(execution, attempt, fence, state, worker, "
                                  "epoch, leased_ms, gpus, "
                                  "cost_ppm) VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)")
                         .Int(row.id)
                         .Int(row.attempt)
                         .Int(row.fence)
                         .Text(query.worker_id)
                         .Text(query.epoch)
                         .Int(query.now_ms)
                         .Int(choice.held.gpus)
                         .Int(static_cast<int64_t>(choice.cost * 1e6))
                         .Run());
  QB_RETURN_IF_ERROR(EnterState(tx, row, pb::JOB_STATE_RUNNING, query.now_ms, ""));
  return AttemptKey{row.id, row.attempt, row.fence};
}

WorkerRoom RoomOf(const LeaseQuery& query) {
  WorkerRoom room;
  room.worker = query.worker_id;
  room.targets = query.targets;
  room.slots = query.slots;
  room.total = query.total;
  return room;
}

// ---- events

struct AttemptRow {
  int64_t committed_seq = 0;
  EventTally tally;
};

absl::StatusOr<AttemptRow> LoadTally(SqliteConnection& db, const AttemptKey& key) {
  SqliteQuery query = db.Prepare(
      "SELECT committed_seq, stored_events, last_progress_ms FROM attempt WHERE fence = ?");
  query.Int(key.fence);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return absl::DataLossError(absl::StrCat("database: no attempt with fence ", key.fence));
  }
  return AttemptRow{query.IntAt(0), {query.IntAt(1), query.IntAt(2)}};
}

absl::StatusOr<pb::JobProgress> LoadProgress(SqliteConnection& db, int64_t execution) {
  SqliteQuery query = db.Prepare("SELECT progress FROM execution WHERE id = ?");
  query.Int(execution);
  pb::JobProgress progress;
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (row) {
    const absl::string_view bytes = query.TextAt(0);
    if (!progress.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return absl::DataLossError(
          absl::StrCat("database: progress of execution ", execution, " is unreadable"));
    }
  }
  return progress;
}

// ---- completion

// The answer to a completion that came before: its own, or STALE_ATTEMPT.
absl::StatusOr<CompletionOutcome> Replay(SqliteConnection& db, const AttemptKey& key,
                                         const absl::Status& stale) {
  SqliteQuery query = db.Prepare(
      "SELECT e.state FROM attempt AS a JOIN execution AS e ON e.id = a.execution "
      "WHERE a.fence = ? AND a.execution = ? AND a.attempt = ? AND a.state = 2");
  query.Int(key.fence).Int(key.execution).Int(key.attempt);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (!row) {
    return stale;
  }
  return CompletionOutcome{static_cast<pb::JobState>(query.IntAt(0)), /*replayed=*/true};
}

absl::Status GiveBack(WriteTx& tx, ExecutionRow& row, int64_t now_ms) {
  QB_RETURN_IF_ERROR(
      tx.db.Prepare("UPDATE execution SET run_after_ms = 0 WHERE id = ?").Int(row.id).Run());
  tx.notice.leasable_from_ms = 0;
  return EnterState(tx, row, pb::JOB_STATE_QUEUED, now_ms, "the worker gave the attempt back");
}

absl::Status ApplyOutcome(WriteTx& tx, ExecutionRow& row, const Completion& completion,
                          const RetryPolicy& policy, double random) {
  const bool cancelling = row.state == pb::JOB_STATE_CANCELLING;
  const pb::JobFailure failure = NormalizeFailure(completion.failure);
  const int64_t now_ms = completion.now_ms;
  switch (completion.outcome) {
    case pb::ATTEMPT_OUTCOME_SUCCEEDED:
      QB_RETURN_IF_ERROR(CheckArtifacts(tx.db, row.tenant, completion.artifacts));
      return Succeed(tx, row, completion);
    case pb::ATTEMPT_OUTCOME_FAILED:
      return EndWithFailure(tx, row, pb::JOB_STATE_FAILED, completion.now_ms, failure);
    case pb::ATTEMPT_OUTCOME_RELEASED:
      if (!cancelling) {
        return GiveBack(tx, row, completion.now_ms);
      }
      break;
    case pb::ATTEMPT_OUTCOME_CANCELLED:
      if (!cancelling) {
        return LoseAttempt(tx, row, policy,
                           {FailureCode::kWorkerLost, "the compile was interrupted on the worker",
                            now_ms, random});
      }
      break;
    case pb::ATTEMPT_OUTCOME_LOST:
      if (!cancelling) {
        const FailureCode code = static_cast<FailureCode>(failure.reason());
        const bool unnamed = completion.failure.reason() == pb::FAILURE_REASON_UNSPECIFIED &&
                             completion.failure.reason_name().empty();
        return LoseAttempt(tx, row, policy,
                           {unnamed ? FailureCode::kWorkerLost : code, completion.failure.message(),
                            now_ms, random});
      }
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("outcome: ", static_cast<int>(completion.outcome), " is not one of ours"));
  }
  // Cancelled while it ran: LoseAttempt knows that this ends the job.
  return LoseAttempt(tx, row, policy, {FailureCode::kCancelled, "", now_ms, random});
}

}  // namespace

absl::StatusOr<LeaseOutcome> LeaseWaiting(WriteTx& tx, const LeaseQuery& query,
                                          SqliteSchedule& schedule) {
  LeaseOutcome outcome;
  const WorkerRoom room = RoomOf(query);
  schedule.queue().SetRunningLimit(query.running_limit);
  while (outcome.leased.size() < static_cast<size_t>(query.count)) {
    // Each lease moves the queue.
    QB_RETURN_IF_ERROR(schedule.Refresh(tx, query.now_ms));
    const auto choice = schedule.queue().Choose(room, query.now_ms);
    outcome.held_back = schedule.queue().held_back();
    if (!choice.has_value()) {
      break;
    }
    QB_ASSIGN_OR_RETURN(const AttemptKey key, LeaseOne(tx, query, *choice));
    QB_ASSIGN_OR_RETURN(LeasedAttempt leased, ReadLeaseRows(tx.db, key));
    outcome.leased.push_back(std::move(leased));
  }
  if (outcome.leased.empty()) {
    outcome.next_run_after_ms = schedule.queue().NextRunAfter();
  }
  return outcome;
}

absl::StatusOr<LeasedAttempt> ReadLeaseRows(SqliteConnection& db, const AttemptKey& key) {
  QB_RETURN_IF_ERROR(LoadCurrent(db, key).status());
  SqliteQuery query = db.Prepare(
      "SELECT a.worker, a.epoch, e.state, e.spec, job.uid, a.gpus, e.run_timeout_ms, job.tenant, "
      "job.traceparent FROM attempt AS a "
      "JOIN execution AS e ON e.id = a.execution JOIN job ON job.execution = e.id "
      "WHERE a.fence = ? AND job.detached_seq IS NULL ORDER BY job.id LIMIT 1");
  query.Int(key.fence);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  LeasedAttempt leased;
  if (!row || !leased.spec.ParseFromArray(query.TextAt(3).data(),
                                          static_cast<int>(query.TextAt(3).size()))) {
    return absl::DataLossError(
        absl::StrCat("database: the spec of execution ", key.execution, " is unreadable"));
  }
  leased.attempt.key = key;
  leased.attempt.worker_id = std::string(query.TextAt(0));
  leased.attempt.epoch = std::string(query.TextAt(1));
  leased.attempt.cancel_requested = query.IntAt(2) == pb::JOB_STATE_CANCELLING;
  leased.job_id = std::string(query.TextAt(4));
  leased.gpus = query.IntAt(5);
  leased.attempt.run_timeout_ms = query.IntAt(6);
  leased.tenant = std::string(query.TextAt(7));
  leased.traceparent = std::string(query.TextAt(8));
  return leased;
}

// Where the attempt's events stand after a batch.
absl::Status StoreTally(SqliteConnection& db, const ExecutionRow& row,
                        const pb::JobProgress& progress, const AttemptRow& attempt) {
  QB_RETURN_IF_ERROR(db.Prepare("UPDATE execution SET progress = ? WHERE id = ?")
                         .Blob(progress.SerializeAsString())
                         .Int(row.id)
                         .Run());
  return db
      .Prepare(
          "UPDATE attempt SET committed_seq = ?, stored_events = ?, "
          "last_progress_ms = ? WHERE execution = ? AND attempt = ?")
      .Int(attempt.committed_seq)
      .Int(attempt.tally.stored)
      .Int(attempt.tally.last_progress_ms)
      .Int(row.id)
      .Int(row.attempt)
      .Run();
}

absl::StatusOr<EventsOutcome> StoreEvents(WriteTx& tx, const AttemptKey& key,
                                          absl::Span<const pb::AttemptEvent> events,
                                          const EventLimits& limits, int64_t now_ms) {
  QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadCurrent(tx.db, key));
  QB_ASSIGN_OR_RETURN(AttemptRow attempt, LoadTally(tx.db, key));
  QB_ASSIGN_OR_RETURN(const absl::Span<const pb::AttemptEvent> fresh,
                      NewOnes(events, attempt.committed_seq));
  EventsOutcome outcome;
  outcome.cancel_requested = row.state == pb::JOB_STATE_CANCELLING;
  outcome.committed_seq = attempt.committed_seq + static_cast<int64_t>(fresh.size());
  if (fresh.empty()) {
    return outcome;
  }
  QB_ASSIGN_OR_RETURN(pb::JobProgress progress, LoadProgress(tx.db, row.id));
  const std::vector<size_t> selected = SelectEvents(fresh, now_ms, limits, attempt.tally);
  size_t next = 0;
  for (size_t i = 0; i < fresh.size(); ++i) {
    FollowProgress(fresh[i], progress);
    if (next < selected.size() && selected[next] == i) {
      ++next;
      QB_RETURN_IF_ERROR(AddEvent(tx, row, row.attempt, now_ms, ToJobEvent(fresh[i], progress)));
    }
  }
  attempt.committed_seq = outcome.committed_seq;
  QB_RETURN_IF_ERROR(StoreTally(tx.db, row, progress, attempt));
  return outcome;
}

absl::StatusOr<CompletionOutcome> CompleteAttempt(WriteTx& tx, const AttemptKey& key,
                                                  const Completion& completion,
                                                  const RetryPolicy& policy, double random) {
  absl::StatusOr<ExecutionRow> current = LoadCurrent(tx.db, key);
  if (current.status().code() == absl::StatusCode::kFailedPrecondition) {
    return Replay(tx.db, key, current.status());
  }
  QB_RETURN_IF_ERROR(current.status());
  ExecutionRow& row = *current;
  QB_RETURN_IF_ERROR(
      EndAttempt(tx, row, AttemptEnd::kCompleted, completion.outcome, completion.now_ms));
  QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET usage = ? WHERE id = ?")
                         .Blob(completion.usage.SerializeAsString())
                         .Int(row.id)
                         .Run());
  QB_RETURN_IF_ERROR(ApplyOutcome(tx, row, completion, policy, random));
  return CompletionOutcome{row.state, /*replayed=*/false};
}

}  // namespace qb::server
