#include "server/jobs/sqlite_job_store.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/sqlite_attempts.h"
#include "server/jobs/sqlite_job_reader.h"

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

int64_t ToMs(const google::protobuf::Duration& duration) {
  return duration.seconds() * 1000 + duration.nanos() / 1'000'000;
}

absl::Status CheckRoom(SqliteConnection& db, absl::string_view tenant, int64_t max_waiting) {
  // The inner LIMIT bounds the count: only "full or not" matters.
  SqliteQuery query = db.Prepare(
      "SELECT count(*) FROM (SELECT 1 FROM execution WHERE state IN (1, 3) AND tenant = ? LIMIT "
      "?)");
  query.Text(tenant).Int(max_waiting);
  QB_ASSIGN_OR_RETURN(const bool row, query.Step());
  if (row && query.IntAt(0) >= max_waiting) {
    return absl::ResourceExhaustedError(absl::StrCat("queue: ", max_waiting,
                                                     " jobs are waiting, no more are accepted; "
                                                     "submit again when some have ended"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> InsertExecution(WriteTx& tx, const NewJob& job) {
  QB_RETURN_IF_ERROR(
      tx.db
          .Prepare("INSERT INTO execution(tenant, state, priority, enqueued_ms, run_after_ms, "
                   "expires_ms, target, spec, resolved_config) VALUES (?, 0, ?, ?, 0, ?, ?, ?, ?)")
          .Text(job.tenant)
          .Int(job.spec.priority())
          .Int(job.now_ms)
          .Int(job.now_ms + ToMs(job.spec.queue_ttl()))
          .Text(job.spec.target_device())
          .Blob(job.spec.SerializeAsString())
          .Text(job.resolved_config_json)
          .Run());
  return tx.db.LastInsertRow();
}

absl::Status InsertJob(WriteTx& tx, const NewJob& job, int64_t execution) {
  SqliteQuery insert = tx.db.Prepare(
      "INSERT INTO job(uid, tenant, execution, state, target, created_ms, request_id, "
      "request_fingerprint) VALUES (?, ?, ?, 0, ?, ?, ?, ?)");
  insert.Text(job.id)
      .Text(job.tenant)
      .Int(execution)
      .Text(job.spec.target_device())
      .Int(job.now_ms);
  if (job.request_id.empty()) {
    insert.Null().Null();
  } else {
    insert.Text(job.request_id).Text(job.request_fingerprint);
  }
  return insert.Run();
}

absl::Status SubmitInTx(WriteTx& tx, const NewJob& job, int64_t max_waiting, SubmitOutcome& out) {
  if (!job.request_id.empty()) {
    // In the same transaction as the insert: two requests at once cannot both miss it.
    QB_ASSIGN_OR_RETURN(std::optional<pb::Job> known,
                        ReadRequest(tx.db, job.tenant, job.request_id, job.request_fingerprint));
    if (known.has_value()) {
      out.job = *std::move(known);
      out.replayed = true;
      return absl::OkStatus();
    }
  }
  QB_RETURN_IF_ERROR(CheckRoom(tx.db, job.tenant, max_waiting));
  QB_ASSIGN_OR_RETURN(const int64_t execution, InsertExecution(tx, job));
  QB_RETURN_IF_ERROR(InsertJob(tx, job, execution));
  QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, execution));
  QB_RETURN_IF_ERROR(EnterState(tx, row, pb::JOB_STATE_QUEUED, job.now_ms, ""));
  tx.notice.leasable_from_ms = 0;
  return Take(ReadJob(tx.db, job.tenant, job.id), out.job);
}

absl::StatusOr<LiveAttempt> ReadLiveAttempt(SqliteConnection& db, const ExecutionRow& row) {
  QB_ASSIGN_OR_RETURN(LeasedAttempt leased,
                      ReadLeaseRows(db, AttemptKey{row.id, row.attempt, row.fence}));
  return leased.attempt;
}

// Ends an execution that waits, and asks one that runs to end; another one stays as it is.
absl::Status CancelExecution(WriteTx& tx, ExecutionRow& row, absl::string_view reason,
                             int64_t now_ms) {
  if (!IsWaiting(row.state) && row.state != pb::JOB_STATE_RUNNING) {
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(tx.db.Prepare("UPDATE execution SET cancel_reason = ? WHERE id = ?")
                         .Text(reason)
                         .Int(row.id)
                         .Run());
  if (row.state == pb::JOB_STATE_RUNNING) {
    return EnterState(tx, row, pb::JOB_STATE_CANCELLING, now_ms, reason);
  }
  const std::string message =
      reason.empty() ? "cancelled on request" : absl::StrCat("cancelled on request: ", reason);
  return EndWithFailure(tx, row, pb::JOB_STATE_CANCELLED, now_ms,
                        MakeFailure(FailureCode::kCancelled, message));
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
  return LoseAttempt(tx, *row, policy, loss);
}

absl::StatusOr<std::vector<int64_t>> FindExpired(SqliteConnection& db, int64_t now_ms) {
  SqliteQuery query = db.Prepare(
      "SELECT id FROM execution WHERE state = 1 AND attempt = 0 AND expires_ms <= ? LIMIT 500");
  query.Int(now_ms);
  std::vector<int64_t> ids;
  while (true) {
    QB_ASSIGN_OR_RETURN(const bool row, query.Step());
    if (!row) {
      return ids;
    }
    ids.push_back(query.IntAt(0));
  }
}

absl::Status ExpireOne(WriteTx& tx, int64_t id, int64_t now_ms) {
  QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, id));
  if (row.state != pb::JOB_STATE_QUEUED || row.attempt != 0) {
    return absl::OkStatus();  // leased since it was found
  }
  return EndWithFailure(
      tx, row, pb::JOB_STATE_EXPIRED, now_ms,
      MakeFailure(FailureCode::kQueueExpired, "no worker took the job within its queue_ttl"));
}

}  // namespace

SqliteJobStore::SqliteJobStore(SqliteDatabase& database, SqliteJobStoreOptions options)
    : database_(database), options_(std::move(options)), random_(options_.seed) {}

double SqliteJobStore::Random() {
  return static_cast<double>(random_() >> 11) * 0x1.0p-53;  // 53 bits: [0, 1)
}

void SqliteJobStore::SetCommitListener(CommitListener listener) {
  database_.writer().SetCommitListener(std::move(listener));
}

absl::StatusOr<SubmitOutcome> SqliteJobStore::Submit(const NewJob& job) {
  SubmitOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run(
      [&](WriteTx& tx) { return SubmitInTx(tx, job, options_.max_waiting_jobs, outcome); }));
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

absl::StatusOr<std::vector<pb::JobEvent>> SqliteJobStore::ReadEvents(int64_t execution,
                                                                     int64_t after_seq,
                                                                     int max_events,
                                                                     int64_t max_bytes) {
  std::vector<pb::JobEvent> events;
  QB_RETURN_IF_ERROR(database_.readers().Run([&](SqliteConnection& db) {
    return Take(ReadEventRows(db, execution, after_seq, max_events, max_bytes), events);
  }));
  return events;
}

absl::StatusOr<CancelOutcome> SqliteJobStore::RequestCancel(absl::string_view tenant,
                                                            absl::string_view job_id,
                                                            absl::string_view reason,
                                                            int64_t now_ms) {
  CancelOutcome outcome;
  QB_RETURN_IF_ERROR(database_.writer().Run([&](WriteTx& tx) -> absl::Status {
    QB_ASSIGN_OR_RETURN(const JobPosition position, ReadPosition(tx.db, tenant, job_id));
    QB_ASSIGN_OR_RETURN(ExecutionRow row, LoadExecution(tx.db, position.execution));
    QB_RETURN_IF_ERROR(CancelExecution(tx, row, reason, now_ms));
    if (row.state == pb::JOB_STATE_CANCELLING) {
      QB_ASSIGN_OR_RETURN(outcome.running, ReadLiveAttempt(tx.db, row));
    }
    return Take(ReadJob(tx.db, tenant, job_id), outcome.job);
  }));
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
  QB_RETURN_IF_ERROR(
      database_.writer().Run([&](WriteTx& tx) { return Take(LeaseWaiting(tx, query), outcome); }));
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
        "SELECT a.execution, a.attempt, a.fence, a.worker, a.epoch, e.state FROM attempt AS a "
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
          LoseOne(tx, key, options_.retry, {FailureCode::kPoison, reason, now_ms, Random()}));
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
      QB_RETURN_IF_ERROR(ExpireOne(tx, id, now_ms));
    }
    return absl::OkStatus();
  }));
  return static_cast<int>(ids.size());
}

}  // namespace qb::server
