// The rows of one execution and the only functions that change its state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "core/base/failure.h"
#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_writer.h"

namespace qb::server {

// What transitions look at. Kept in step with its row by the functions below.
struct ExecutionRow {
  int64_t id = 0;
  std::string tenant;
  pb::JobState state = pb::JOB_STATE_UNSPECIFIED;
  int32_t attempt = 0;
  int64_t fence = 0;
  int64_t losses = 0;
  int64_t deaths = 0;
  int64_t last_seq = 0;
  std::string cancel_reason;
  std::string action;  // "": not shared
  std::string compiler_build;
};

// Errors: NotFound.
absl::StatusOr<ExecutionRow> LoadExecution(SqliteConnection& db, int64_t id);
// "attempt 3" is live under this key, or FailedPrecondition "STALE_ATTEMPT: ...".
absl::StatusOr<ExecutionRow> LoadCurrent(SqliteConnection& db, const AttemptKey& key);

// Stores `event` with the next seq, the time and `attempt` (0: not of an attempt).
absl::Status AddEvent(WriteTx& tx, ExecutionRow& row, int32_t attempt, int64_t now_ms,
                      pb::JobEvent event);

// Changes to a state that is not terminal, with its event.
absl::Status EnterState(WriteTx& tx, ExecutionRow& row, pb::JobState state, int64_t now_ms,
                        absl::string_view reason);
// Ends the execution and its jobs, with the terminal event.
absl::Status Succeed(WriteTx& tx, ExecutionRow& row, const Completion& completion);
absl::Status EndWithFailure(WriteTx& tx, ExecutionRow& row, pb::JobState state, int64_t now_ms,
                            const pb::JobFailure& failure);

// Ends a live attempt.
enum class AttemptEnd { kCompleted = 2, kLost = 3 };  // Frozen: in the database.
absl::Status EndAttempt(WriteTx& tx, const ExecutionRow& row, AttemptEnd end,
                        pb::AttemptOutcome outcome, int64_t now_ms);

struct RetryPolicy {
  // Lost attempts that a job survives; one more ends it. Default 5.
  int max_losses = 5;
  // Workers that may go away under a job before it is taken for the cause (POISON). Default 3.
  int max_deaths = 3;
  // The n-th loss waits a random time of up to base * 2^(n-1), at most the cap. Defaults 1 s, 60 s.
  int64_t base_wait_ms = 1000;
  int64_t max_wait_ms = 60'000;
};

struct AttemptLoss {
  FailureCode code;  // of the job, when this was one loss too many
  absl::string_view reason;
  int64_t now_ms;
  double random;  // in [0, 1): the share of the longest wait
};

// What follows when the live attempt of `row` is gone through nobody's input: CANCELLED when that
// was asked for, RETRY_WAIT, or FAILED with the loss' code when the budget is spent.
absl::Status LoseAttempt(WriteTx& tx, ExecutionRow& row, const RetryPolicy& policy,
                         const AttemptLoss& loss);
// The same when the worker itself is gone; too often, and the job FAILED with POISON.
absl::Status LoseWorker(WriteTx& tx, ExecutionRow& row, const RetryPolicy& policy,
                        const AttemptLoss& loss);

}  // namespace qb::server
