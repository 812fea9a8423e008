// What the dispatcher does when time passes.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "server/dispatch/dispatcher.h"
#include "server/jobs/job_failure.h"

namespace qb::server {
namespace {

constexpr int64_t kExpiryIntervalMs = 1000;
constexpr int64_t kForgetWorkerAfterLeases = 10;

}  // namespace

absl::Status Dispatcher::LoseCollected(absl::string_view reason) {
  std::vector<AttemptKey> keys;
  {
    absl::MutexLock lock(&mutex_);
    keys.swap(losing_);
  }
  if (keys.empty()) {
    return absl::OkStatus();
  }
  absl::Status status = store_.LoseAttempts(keys, reason, clock_.WallMs());
  if (!status.ok()) {
    absl::MutexLock lock(&mutex_);
    losing_.insert(losing_.end(), keys.begin(), keys.end());  // the next Tick tries again
  }
  for (const AttemptKey& key : keys) {
    options_.log(
        LogLevel::kWarning, absl::StrCat("attempt lost: ", reason),
        {{"execution", absl::StrCat(key.execution)}, {"attempt", absl::StrCat(key.attempt)}});
  }
  return status;
}

void Dispatcher::CollectExpired() {
  const int64_t now_ms = clock_.MonotonicMs();
  const int64_t gap_ms = last_tick_ms_ == 0 ? 0 : now_ms - last_tick_ms_;
  last_tick_ms_ = now_ms;
  if (gap_ms > options_.lease_ttl_ms / 2) {
    // This process stood still (suspended, stopped, starved): the agents could not renew.
    for (auto& [fence, lease] : leases_) {
      lease.deadline_ms += gap_ms;
      if (lease.overdue_ms.has_value()) {
        *lease.overdue_ms += gap_ms;
      }
    }
  }
  for (auto it = leases_.begin(); it != leases_.end();) {
    const Lease& lease = it->second;
    const bool given_up = lease.give_up_ms.has_value() && now_ms >= *lease.give_up_ms;
    if (now_ms >= lease.deadline_ms || given_up) {
      losing_.push_back(lease.attempt.key);
      leases_.erase(it++);
    } else {
      ++it;
    }
  }
  for (auto it = early_cancels_.begin(); it != early_cancels_.end();) {
    if (now_ms - it->second > options_.lease_ttl_ms) {
      early_cancels_.erase(it++);
    } else {
      ++it;
    }
  }
}

// The agent lives and renews the lease but does not end the compile.
void Dispatcher::EndOverdue() {
  std::vector<LiveAttempt> overdue;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [fence, lease] : leases_) {
      if (lease.overdue_ms.has_value() && clock_.MonotonicMs() >= *lease.overdue_ms) {
        overdue.push_back(lease.attempt);
      }
    }
  }
  for (const LiveAttempt& attempt : overdue) {
    Completion completion;
    completion.outcome = pb::ATTEMPT_OUTCOME_FAILED;
    completion.failure = MakeFailure(FailureCode::kTimeout,
                                     absl::StrCat("the compile ran longer than its run_timeout of ",
                                                  attempt.run_timeout_ms, " ms"));
    completion.now_ms = clock_.WallMs();
    const absl::Status status = store_.Complete(attempt.key, completion).status();
    if (status.ok() || status.code() == absl::StatusCode::kFailedPrecondition) {
      AttemptEnded(attempt.key);  // the agent is told to kill it
    }
  }
}

void Dispatcher::Tick() {
  std::vector<std::shared_ptr<Call>> due;
  bool work_is_due = false;
  bool expiry_is_due = false;
  {
    absl::MutexLock lock(&mutex_);
    if (closing_) {
      return;  // agents are turned away now: their silence says nothing
    }
    CollectExpired();
    const int64_t now_ms = clock_.MonotonicMs();
    for (auto it = workers_.begin(); it != workers_.end();) {
      Worker& worker = it->second;
      if (worker.parked != nullptr && now_ms >= worker.parked->deadline_ms) {
        due.push_back(std::exchange(worker.parked, nullptr));
      }
      const bool forget =
          worker.parked == nullptr &&
          now_ms - worker.seen_ms > kForgetWorkerAfterLeases * options_.lease_ttl_ms;
      it = forget ? workers_.erase(it) : std::next(it);
    }
    if (next_work_wall_ms_.has_value() && clock_.WallMs() >= *next_work_wall_ms_) {
      next_work_wall_ms_.reset();
      work_is_due = true;
    }
    if (now_ms - last_expiry_ms_ >= kExpiryIntervalMs) {
      last_expiry_ms_ = now_ms;
      expiry_is_due = true;
    }
  }
  for (std::shared_ptr<Call>& call : due) {
    pool_.Schedule([this, call = std::move(call)] { Step(call); });
  }
  if (work_is_due) {
    WorkAvailable(0);
  }
  // Errors are the store's; it has said so itself, and the next Tick tries again.
  LoseCollected("the worker stopped answering").IgnoreError();
  EndOverdue();
  if (expiry_is_due) {
    store_.ExpireQueued(clock_.WallMs()).IgnoreError();
  }
}

}  // namespace qb::server
