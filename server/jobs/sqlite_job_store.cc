#include "server/jobs/sqlite_job_store.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/jobs/sqlite_attempts.h"
#include "server/jobs/sqlite_job_reader.h"
#include "server/jobs/sqlite_submit.h"

namespace qb::server {
namespace {

// Assigns the value of `result` to `out`, or returns its error: the bridge from StatusOr to the
// Status of a transaction.
template <typename T>
absl::Status Take(absl::StatusOr<T> result, T& out) {
  QB_RETURN_IF_ERROR(result.status());
  out = *std::move(result);
  return absl::OkStatus();
}

// The loss of an attempt that may have ended in the meantime.
absl::Status LoseOne(WriteTx& tx, const AttemptKey& key, const RetryPolicy& policy,
                     const AttemptLoss& loss) {
  absl::StatusOr<ExecutionRow> row = LoadCurrent(tx.db, key);
  if (row.status().code() == absl::StatusCode::kFailedPrecondition) {
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(row.status());
  QB_RETURN_IF_ERROR(
      EndAttempt(tx, *row, AttemptEnd::kLost, pb::ATTEMPT_OUTCOME_LOST, loss.now_ms));
  return LoseWorker(tx, *row, policy, loss);
}

}  // namespace

SqliteJobStore::SqliteJobStore(SqliteDatabase& database, SqliteJobStoreOptions options)
    : database_(database), options_(options), random_(options_.seed) {}

double SqliteJobStore::Random() {
  return static_cast<double>(random_() >> 11) * 0x1.0p-53;  // 53 bits: [0, 1)
}

void SqliteJobStore::SetCommitListener(CommitListener listener) {
  database_.writer().SetCommitListener(std::move(listener));
}

absl::StatusOr<SubmitOutcome> SqliteJobStore::Submit(const NewJob& job) {
  SubmitOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run(
      [&](WriteTx& tx) { return Take(SubmitJob(tx, job, options_.max_waiting_jobs), outcome); }));
  return outcome;
}

absl::StatusOr<std::optional<pb::Job>> SqliteJobStore::FindRequest(absl::string_view tenant,
                                                                   absl::string_view request_id,
                                                                   absl::string_view fingerprint) {
  std::optional<pb::Job> job;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) {
    return Take(ReadRequest(db, tenant, request_id, fingerprint), job);
  }));
  return job;
}

absl::StatusOr<pb::Job> SqliteJobStore::GetJob(absl::string_view tenant, absl::string_view job_id) {
  pb::Job job;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(ReadJob(db, tenant, job_id), job); }));
  return job;
}

absl::StatusOr<JobPosition> SqliteJobStore::FindJob(absl::string_view tenant,
                                                    absl::string_view job_id) {
  JobPosition position;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(ReadPosition(db, tenant, job_id), position); }));
  return position;
}

absl::StatusOr<JobPage> SqliteJobStore::ListJobs(const JobQuery& query) {
  JobPage page;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(ReadPage(db, query), page); }));
  return page;
}

absl::StatusOr<ChangedJobs> SqliteJobStore::ReadChangedJobs(const JobQuery& query,
                                                            int64_t revision) {
  ChangedJobs changed;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(ReadChangedRows(db, query, revision), changed); }));
  return changed;
}

absl::StatusOr<std::map<pb::JobState, int64_t>> SqliteJobStore::CountJobs(
    absl::string_view tenant) {
  std::map<pb::JobState, int64_t> counts;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(ReadCounts(db, tenant), counts); }));
  return counts;
}

absl::StatusOr<std::vector<pb::JobEvent>> SqliteJobStore::ReadEvents(int64_t job, int64_t after_seq,
                                                                     int max_events,
                                                                     int64_t max_bytes) {
  std::vector<pb::JobEvent> events;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) {
    return Take(ReadEventRows(db, job, after_seq, max_events, max_bytes), events);
  }));
  return events;
}

absl::StatusOr<CancelOutcome> SqliteJobStore::RequestCancel(absl::string_view tenant,
                                                            absl::string_view job_id,
                                                            absl::string_view reason,
                                                            int64_t now_ms) {
  CancelOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run(
      [&](WriteTx& tx) { return Take(CancelJob(tx, tenant, job_id, reason, now_ms), outcome); }));
  return outcome;
}

absl::Status SqliteJobStore::RegisterWorker(absl::string_view worker_id, absl::string_view epoch,
                                            const pb::WorkerCapabilities& capabilities,
                                            int64_t now_ms) {
  return database_.writer().Run([&](WriteTx& tx) {
    return tx.db
        .Prepare(
            "INSERT OR REPLACE INTO worker(id, epoch, registered_ms, capabilities) "
            "VALUES (?, ?, ?, ?)")
        .Text(worker_id)
        .Text(epoch)
        .Int(now_ms)
        .Blob(capabilities.SerializeAsString())
        .Run();
  });
}

absl::StatusOr<LeaseOutcome> SqliteJobStore::Lease(const LeaseQuery& query) {
  LeaseOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run(
      [&](WriteTx& tx) { return Take(LeaseWaiting(tx, query, schedule_), outcome); }));
  return outcome;
}

absl::StatusOr<LeasedAttempt> SqliteJobStore::ReadLease(const AttemptKey& key) {
  LeasedAttempt leased;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(ReadLeaseRows(db, key), leased); }));
  return leased;
}

absl::StatusOr<std::vector<LiveAttempt>> SqliteJobStore::ListLiveAttempts() {
  std::vector<LiveAttempt> attempts;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) -> absl::Status {
    SqliteQuery query = db.Prepare(
        "SELECT a.execution, a.attempt, a.fence, a.worker, a.epoch, e.state, e.run_timeout_ms FROM "
        "attempt AS a "
        "JOIN execution AS e ON e.id = a.execution WHERE a.state = 1");
    while (true) {
      QB_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) {
        return absl::OkStatus();
      }
      LiveAttempt attempt;
      attempt.key = {query.IntAt(0), static_cast<int32_t>(query.IntAt(1)), query.IntAt(2)};
      attempt.worker_id = std::string(query.TextAt(3));
      attempt.epoch = std::string(query.TextAt(4));
      attempt.cancel_requested = query.IntAt(5) == pb::JOB_STATE_CANCELLING;
      attempt.run_timeout_ms = query.IntAt(6);
      attempts.push_back(std::move(attempt));
    }
  }));
  return attempts;
}

absl::StatusOr<EventsOutcome> SqliteJobStore::AppendEvents(
    const AttemptKey& key, absl::Span<const pb::AttemptEvent> events, int64_t now_ms) {
  EventsOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) {
    return Take(StoreEvents(tx, key, events, options_.events, now_ms), outcome);
  }));
  return outcome;
}

absl::StatusOr<CompletionOutcome> SqliteJobStore::Complete(const AttemptKey& key,
                                                           const Completion& completion) {
  CompletionOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) {
    return Take(CompleteAttempt(tx, key, completion, options_.retry, Random()), outcome);
  }));
  return outcome;
}

absl::Status SqliteJobStore::LoseAttempts(absl::Span<const AttemptKey> keys,
                                          absl::string_view reason, int64_t now_ms) {
  return database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    for (const AttemptKey& key : keys) {
      QB_RETURN_IF_ERROR(
          LoseOne(tx, key, options_.retry, {FailureCode::kWorkerLost, reason, now_ms, Random()}));
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<int> SqliteJobStore::ExpireQueued(int64_t now_ms) {
  // Reads first: nearly always there is nothing to do, and then nothing is written.
  std::vector<int64_t> ids;
  QB_RETURN_IF_ERROR(database_.readers().Run(
      [&](SqliteConnection& db) { return Take(FindExpired(db, now_ms), ids); }));
  if (ids.empty()) {
    return 0;
  }
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    for (int64_t id : ids) {
      QB_RETURN_IF_ERROR(ExpireJob(tx, id, now_ms));
    }
    return absl::OkStatus();
  }));
  return static_cast<int>(ids.size());
}

}  // namespace qb::server
