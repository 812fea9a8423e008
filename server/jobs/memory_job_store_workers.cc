// The half of MemoryJobStore that agents use.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/attempt_events.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/memory_job_store.h"
#include "server/jobs/wire_time.h"

namespace qb::server {
namespace {

absl::Status Stale(const AttemptKey& key) {
  return absl::FailedPreconditionError(absl::StrCat("STALE_ATTEMPT: execution ", key.execution,
                                                    " attempt ", key.attempt, " with fence ",
                                                    key.fence, " is not the current one"));
}

}  // namespace

absl::Status MemoryJobStore::RegisterWorker(absl::string_view /*worker_id*/,
                                            absl::string_view /*epoch*/,
                                            const pb::WorkerCapabilities& /*capabilities*/,
                                            int64_t /*now_ms*/) {
  return absl::OkStatus();
}

void MemoryJobStore::LoadIntoQueue(int64_t id, int64_t now_ms) {
  const MemoryExecution& execution = tables_.executions.at(id);
  const int64_t timeout_ms = ToMs(execution.first.spec.run_timeout());
  if (IsWaiting(execution.state)) {
    WaitingWork work;
    work.id = id;
    work.tenant = execution.first.tenant;
    work.priority = execution.priority;
    work.enqueued_ms = execution.first.now_ms;
    work.run_after_ms = execution.run_after_ms;
    work.expires_ms = execution.attempt == 0 ? execution.expires_ms : INT64_MAX;
    work.run_timeout_ms = timeout_ms > 0 ? timeout_ms : INT64_MAX;
    work.target = execution.first.spec.target_device();
    work.needs = execution.first.needs;
    work.prefers_gpu = execution.first.prefers_gpu;
    queue_.Wait(std::move(work), now_ms);
  } else if (IsTerminal(execution.state)) {
    queue_.Forget(id, now_ms);
  } else {
    const MemoryAttempt& attempt = tables_.attempts.at(execution.fence);
    RunningWork work;
    work.id = id;
    work.tenant = execution.first.tenant;
    work.worker = attempt.worker;
    work.held = execution.first.needs;
    work.held.gpus = attempt.gpus;
    work.cost = attempt.cost;
    work.start_ms = attempt.leased_ms;
    work.latest_end_ms = timeout_ms > 0 ? attempt.leased_ms + timeout_ms : INT64_MAX;
    queue_.Run(std::move(work), now_ms);
  }
}

void MemoryJobStore::RefreshQueue(int64_t now_ms) {
  if (!queue_loaded_) {
    for (const auto& [id, execution] : tables_.executions) {
      if (!IsTerminal(execution.state)) {
        LoadIntoQueue(id, now_ms);
      }
    }
    queue_loaded_ = true;
  }
  for (int64_t id : std::exchange(tables_.moved, {})) {
    LoadIntoQueue(id, now_ms);
  }
}

LeasedAttempt MemoryJobStore::DescribeLease(const AttemptKey& key) {
  const MemoryExecution& execution = tables_.executions.at(key.execution);
  const MemoryAttempt& attempt = tables_.attempts.at(key.fence);
  LeasedAttempt leased;
  leased.attempt.key = key;
  leased.attempt.worker_id = attempt.worker;
  leased.attempt.epoch = attempt.epoch;
  leased.attempt.cancel_requested = execution.state == pb::JOB_STATE_CANCELLING;
  leased.attempt.run_timeout_ms = ToMs(execution.first.spec.run_timeout());
  const NewJob& job = tables_.JobsOf(key.execution).front()->job;
  leased.job_id = job.id;
  leased.tenant = job.tenant;
  leased.traceparent = job.traceparent;
  leased.spec = execution.first.spec;
  leased.gpus = attempt.gpus;
  return leased;
}

LeasedAttempt MemoryJobStore::LeaseOne(const LeaseQuery& query, const WorkQueue::Choice& choice) {
  MemoryExecution& execution = tables_.executions.at(choice.id);
  execution.fence = tables_.next_fence++;
  ++execution.attempt;
  execution.worker = query.worker_id;
  execution.build = query.compiler_build;
  execution.progress.reset();
  execution.started_ms = execution.started_ms.value_or(query.now_ms);
  MemoryAttempt& attempt = tables_.attempts[execution.fence];
  attempt.key = {execution.id, execution.attempt, execution.fence};
  attempt.worker = query.worker_id;
  attempt.epoch = query.epoch;
  attempt.leased_ms = query.now_ms;
  attempt.gpus = choice.held.gpus;
  // As it is stored in a file: in millionths.
  attempt.cost = static_cast<double>(static_cast<int64_t>(choice.cost * 1e6)) / 1e6;
  tables_.EnterState(execution, pb::JOB_STATE_RUNNING, query.now_ms, "");
  return DescribeLease(attempt.key);
}

absl::StatusOr<LeaseOutcome> MemoryJobStore::Lease(const LeaseQuery& query) {
  absl::MutexLock lock(&mutex_);
  LeaseOutcome outcome;
  const WorkerRoom room{query.worker_id, query.targets, query.slots, query.total};
  queue_.SetRunningLimit(query.running_limit);
  while (outcome.leased.size() < static_cast<size_t>(query.count)) {
    RefreshQueue(query.now_ms);
    const auto choice = queue_.Choose(room, query.now_ms);
    outcome.held_back = queue_.held_back();
    if (!choice.has_value()) {
      break;
    }
    outcome.leased.push_back(LeaseOne(query, *choice));
  }
  if (outcome.leased.empty()) {
    outcome.next_run_after_ms = queue_.NextRunAfter();
  }
  Tell();
  return outcome;
}

absl::StatusOr<LeasedAttempt> MemoryJobStore::ReadLease(const AttemptKey& key) {
  absl::MutexLock lock(&mutex_);
  return tables_.FindCurrent(key) == nullptr ? absl::StatusOr<LeasedAttempt>(Stale(key))
                                             : DescribeLease(key);
}

absl::StatusOr<std::vector<LiveAttempt>> MemoryJobStore::ListLiveAttempts() {
  absl::MutexLock lock(&mutex_);
  std::vector<LiveAttempt> live;
  for (const auto& [fence, attempt] : tables_.attempts) {
    if (attempt.state == MemoryAttemptState::kLive) {
      live.push_back(DescribeLease(attempt.key).attempt);
    }
  }
  return live;
}

absl::StatusOr<EventsOutcome> MemoryJobStore::AppendEvents(
    const AttemptKey& key, absl::Span<const pb::AttemptEvent> events, int64_t now_ms) {
  absl::MutexLock lock(&mutex_);
  MemoryExecution* execution = tables_.FindCurrent(key);
  if (execution == nullptr) {
    return Stale(key);
  }
  MemoryAttempt& attempt = tables_.attempts.at(key.fence);
  QB_ASSIGN_OR_RETURN(const absl::Span<const pb::AttemptEvent> fresh,
                      NewOnes(events, attempt.committed_seq));
  attempt.committed_seq += static_cast<int64_t>(fresh.size());
  if (!fresh.empty()) {
    pb::JobProgress progress = execution->progress.value_or(pb::JobProgress());
    const std::vector<size_t> kept = SelectEvents(fresh, now_ms, options_.events, attempt.tally);
    for (size_t i = 0; i < fresh.size(); ++i) {
      FollowProgress(fresh[i], progress);
      if (std::find(kept.begin(), kept.end(), i) != kept.end()) {
        tables_.AddEvent(*execution, now_ms, ToJobEvent(fresh[i], progress));
      }
    }
    execution->progress = progress;
  }
  EventsOutcome outcome;
  outcome.committed_seq = attempt.committed_seq;
  outcome.cancel_requested = execution->state == pb::JOB_STATE_CANCELLING;
  Tell();
  return outcome;
}

void MemoryJobStore::End(MemoryExecution& execution, const Completion& completion, double random) {
  const bool cancelling = execution.state == pb::JOB_STATE_CANCELLING;
  const pb::JobFailure failure = NormalizeFailure(completion.failure);
  const bool has_reason = completion.failure.reason() != pb::FAILURE_REASON_UNSPECIFIED ||
                          !completion.failure.reason_name().empty();
  if (completion.outcome == pb::ATTEMPT_OUTCOME_SUCCEEDED) {
    tables_.Succeed(execution, completion);
  } else if (completion.outcome == pb::ATTEMPT_OUTCOME_FAILED) {
    tables_.Fail(execution, pb::JOB_STATE_FAILED, completion.now_ms, failure);
  } else if (cancelling) {
    tables_.Lose(execution, options_.retry,
                 {FailureCode::kCancelled, "", completion.now_ms, random});
  } else if (completion.outcome == pb::ATTEMPT_OUTCOME_RELEASED) {
    execution.run_after_ms = 0;
    tables_.notice.leasable_from_ms = 0;
    tables_.EnterState(execution, pb::JOB_STATE_QUEUED, completion.now_ms,
                       "the worker gave the attempt back");
  } else if (completion.outcome == pb::ATTEMPT_OUTCOME_CANCELLED) {
    tables_.Lose(execution, options_.retry,
                 {FailureCode::kWorkerLost, "the compile was interrupted on the worker",
                  completion.now_ms, random});
  } else {
    const FailureCode code =
        has_reason ? static_cast<FailureCode>(failure.reason()) : FailureCode::kWorkerLost;
    tables_.Lose(execution, options_.retry,
                 {code, completion.failure.message(), completion.now_ms, random});
  }
}

absl::StatusOr<CompletionOutcome> MemoryJobStore::Complete(const AttemptKey& key,
                                                           const Completion& completion) {
  absl::MutexLock lock(&mutex_);
  const double random = Random();
  MemoryExecution* execution = tables_.FindCurrent(key);
  if (execution == nullptr) {
    const auto attempt = tables_.attempts.find(key.fence);
    if (attempt == tables_.attempts.end() || !(attempt->second.key == key) ||
        attempt->second.state != MemoryAttemptState::kCompleted) {
      return Stale(key);
    }
    return CompletionOutcome{tables_.executions.at(key.execution).state, /*replayed=*/true};
  }
  if (completion.outcome < pb::ATTEMPT_OUTCOME_SUCCEEDED ||
      completion.outcome > pb::ATTEMPT_OUTCOME_RELEASED) {
    return absl::InvalidArgumentError(
        absl::StrCat("outcome: ", static_cast<int>(completion.outcome), " is not one of ours"));
  }
  if (completion.outcome == pb::ATTEMPT_OUTCOME_SUCCEEDED) {
    for (const pb::Artifact& artifact : completion.artifacts) {
      if (!has_blob_(execution->first.tenant, artifact)) {
        return absl::FailedPreconditionError(absl::StrCat(
            "MISSING_BLOB: artifact '", artifact.name(), "' with sha256 ", artifact.sha256(),
            " and ", artifact.size_bytes(), " bytes is not stored"));
      }
    }
  }
  tables_.attempts.at(key.fence).state = MemoryAttemptState::kCompleted;
  execution->usage = completion.usage;
  End(*execution, completion, random);
  Tell();
  return CompletionOutcome{execution->state, /*replayed=*/false};
}

absl::Status MemoryJobStore::LoseAttempts(absl::Span<const AttemptKey> keys,
                                          absl::string_view reason, int64_t now_ms) {
  absl::MutexLock lock(&mutex_);
  for (const AttemptKey& key : keys) {
    const double random = Random();  // drawn for stale keys as well, as the other form does
    MemoryExecution* execution = tables_.FindCurrent(key);
    if (execution != nullptr) {
      tables_.attempts.at(key.fence).state = MemoryAttemptState::kLost;
      tables_.LoseWorker(*execution, options_.retry,
                         {FailureCode::kWorkerLost, reason, now_ms, random});
    }
  }
  Tell();
  return absl::OkStatus();
}

}  // namespace qb::server
