#include "server/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/base/uuid.h"
#include "server/dispatch/compiler_flags.h"
#include "server/dispatch/worker_resources.h"
#include "server/jobs/job_failure.h"

namespace qb::server {
namespace {

constexpr int kMaxSlots = 1024;
constexpr size_t kMaxHeld = 4096;

AttemptKey FromProto(const pb::AttemptKey& key) {
  return AttemptKey{key.execution_id(), key.attempt(), key.fence()};
}

void ToProto(const AttemptKey& key, pb::AttemptKey* out) {
  out->set_execution_id(key.execution);
  out->set_attempt(key.attempt);
  out->set_fence(key.fence);
}

void SetMs(int64_t ms, google::protobuf::Duration* duration) {
  duration->set_seconds(ms / 1000);
  duration->set_nanos(static_cast<int32_t>(ms % 1000) * 1'000'000);
}

int64_t ToMs(const google::protobuf::Duration& duration) {
  // Callers cut the result; the bound keeps the product in range.
  const int64_t seconds = std::clamp<int64_t>(duration.seconds(), 0, 1'000'000);
  return seconds * 1000 + std::clamp(duration.nanos(), 0, 999'999'999) / 1'000'000;
}

bool IsWorkerId(absl::string_view id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '.' || c == '-';
  });
}

absl::Status CheckSync(const pb::SyncRequest& request) {
  if (!IsWorkerId(request.worker_id())) {
    return absl::InvalidArgumentError("worker_id: expected 1 to 64 of [A-Za-z0-9_.-]");
  }
  if (!IsUuid(request.epoch())) {
    return absl::InvalidArgumentError("epoch: expected a lower-case UUID of version 7");
  }
  if (request.free_slots() < 0 || request.free_slots() > kMaxSlots ||
      request.held_size() > static_cast<int>(kMaxHeld)) {
    return absl::InvalidArgumentError(
        absl::StrCat("free_slots: expected 0 to ", kMaxSlots, "; held: expected up to ", kMaxHeld));
  }
  return absl::OkStatus();
}

absl::Status StaleWorker(const pb::SyncRequest& request) {
  return absl::FailedPreconditionError(
      absl::StrCat("STALE_WORKER: a later process registered as '", request.worker_id(), "'"));
}

bool HasContent(const pb::SyncResponse& response) {
  return response.assignments_size() > 0 || response.cancel_size() > 0 || response.kill_size() > 0;
}

}  // namespace

Dispatcher::Dispatcher(JobStore& store, const Clock& clock, TaskPool& pool,
                       DispatcherOptions options)
    : store_(store), clock_(clock), pool_(pool), options_(std::move(options)) {}

absl::Status Dispatcher::Start() {
  QB_ASSIGN_OR_RETURN(const std::vector<LiveAttempt> attempts, store_.ListLiveAttempts());
  absl::MutexLock lock(&mutex_);
  const int64_t now_ms = clock_.MonotonicMs();
  for (const LiveAttempt& attempt : attempts) {
    Lease lease;
    lease.attempt = attempt;
    lease.deadline_ms = now_ms + options_.lease_ttl_ms;
    if (attempt.cancel_requested) {
      lease.give_up_ms = now_ms + options_.cancel_grace_ms;
    }
    leases_.emplace(attempt.key.fence, std::move(lease));
  }
  next_work_wall_ms_ = 0;  // whatever waits in the store
  return absl::OkStatus();
}

// ---- Sync

void Dispatcher::Sync(const pb::SyncRequest& request, SyncDone done) {
  auto call = std::make_shared<Call>();
  call->request = request;
  call->done = std::move(done);
  const int64_t wait_ms = std::min(ToMs(request.max_wait()), options_.lease_ttl_ms / 3);
  call->deadline_ms = clock_.MonotonicMs() + wait_ms;
  if (absl::Status status = Register(request); !status.ok()) {
    Answer(call, std::move(status));
    return;
  }
  Step(call);
}

// Notes the agent, renews its leases, and loses those of the process before it.
absl::Status Dispatcher::Register(const pb::SyncRequest& request) {
  QB_RETURN_IF_ERROR(CheckSync(request));
  std::shared_ptr<Call> replaced;
  QB_ASSIGN_OR_RETURN(const bool is_new, NoteWorker(request, replaced));
  if (replaced != nullptr) {
    // A call of the process before, or one that its agent gave up.
    Answer(replaced,
           replaced->request.epoch() == request.epoch()
               ? absl::StatusOr<pb::SyncResponse>(absl::CancelledError("a later Sync came"))
               : absl::StatusOr<pb::SyncResponse>(StaleWorker(replaced->request)));
  }
  if (!is_new) {
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(store_.RegisterWorker(request.worker_id(), request.epoch(),
                                           request.capabilities(), clock_.WallMs()));
  return LoseCollected(absl::StrCat("worker '", request.worker_id(), "' restarted"));
}

// Returns whether it is a new process. `replaced` gets the call that was parked for the worker.
absl::StatusOr<bool> Dispatcher::NoteWorker(const pb::SyncRequest& request,
                                            std::shared_ptr<Call>& replaced) {
  absl::MutexLock lock(&mutex_);
  const int64_t now_ms = clock_.MonotonicMs();
  Worker& worker = workers_[request.worker_id()];
  const bool is_new = worker.epoch != request.epoch();
  // An old process may still run; a clock that went back must not lock out a new one for ever.
  if (is_new && request.epoch() < worker.epoch && now_ms - worker.seen_ms < options_.lease_ttl_ms) {
    return StaleWorker(request);
  }
  replaced = std::exchange(worker.parked, nullptr);
  worker.epoch = request.epoch();
  worker.capabilities = request.capabilities();
  worker.seen_ms = now_ms;
  worker.draining = request.draining();
  RenewLeases(request, now_ms);
  if (is_new) {
    CollectOldLeases(request);
  }
  return is_new;
}

void Dispatcher::RenewLeases(const pb::SyncRequest& request, int64_t now_ms) {
  for (const pb::HeldAttempt& held : request.held()) {
    const auto it = leases_.find(held.key().fence());
    if (it == leases_.end() || !(it->second.attempt.key == FromProto(held.key())) ||
        it->second.attempt.worker_id != request.worker_id() ||
        it->second.attempt.epoch != request.epoch()) {
      continue;
    }
    Lease& lease = it->second;
    lease.deadline_ms = now_ms + options_.lease_ttl_ms;
    if (held.phase() == pb::ATTEMPT_PHASE_RUNNING && lease.attempt.run_timeout_ms > 0 &&
        !lease.overdue_ms.has_value()) {
      lease.overdue_ms = now_ms + lease.attempt.run_timeout_ms + options_.run_timeout_grace_ms;
    }
    if (held.phase() == pb::ATTEMPT_PHASE_REPORTING) {
      lease.overdue_ms.reset();  // it has ended in time
    }
  }
}

// What an earlier process of the worker holds is lost.
void Dispatcher::CollectOldLeases(const pb::SyncRequest& request) {
  for (auto it = leases_.begin(); it != leases_.end();) {
    const LiveAttempt& attempt = it->second.attempt;
    if (attempt.worker_id == request.worker_id() && attempt.epoch != request.epoch()) {
      losing_.push_back(attempt.key);
      leases_.erase(it++);
    } else {
      ++it;
    }
  }
}

// Answers the call, or parks it when there is nothing to say.
void Dispatcher::Step(const std::shared_ptr<Call>& call) {
  while (true) {
    absl::StatusOr<Plan> plan = MakePlan(*call);
    absl::Status status = plan.status();
    if (status.ok()) {
      status = AddUndelivered(*plan);
    }
    if (status.ok() && plan->wanted > 0) {
      status = AddNewLeases(*call, *plan);
    }
    if (!status.ok()) {
      Answer(call, std::move(status));
      return;
    }
    if (HasContent(plan->response) || call->answer_now ||
        clock_.MonotonicMs() >= call->deadline_ms) {
      Answer(call, std::move(plan->response));
      return;
    }
    if (Park(call, plan->generation)) {
      return;
    }
  }
}

absl::StatusOr<Dispatcher::Plan> Dispatcher::MakePlan(Call& call) {
  const pb::SyncRequest& request = call.request;
  Plan plan;
  SetMs(options_.lease_ttl_ms / 3, plan.response.mutable_sync_interval());
  SetMs(options_.lease_ttl_ms, plan.response.mutable_lease_ttl());
  absl::flat_hash_set<int64_t> held_fences;
  absl::MutexLock lock(&mutex_);
  if (closing_) {
    return absl::UnavailableError("the server is shutting down: try again later");
  }
  const auto worker = workers_.find(request.worker_id());
  if (worker == workers_.end() || worker->second.epoch != request.epoch()) {
    return StaleWorker(request);
  }
  plan.generation = generation_;
  for (const pb::HeldAttempt& held : request.held()) {
    const AttemptKey key = FromProto(held.key());
    held_fences.insert(key.fence);
    const auto lease = leases_.find(key.fence);
    const bool mine = lease != leases_.end() && lease->second.attempt.key == key &&
                      lease->second.attempt.epoch == request.epoch();
    const bool just_ended =
        std::find(call.ended.begin(), call.ended.end(), key.fence) != call.ended.end();
    if (!mine && !just_ended) {
      ToProto(key, plan.response.add_kill());
    } else if (mine && lease->second.attempt.cancel_requested) {
      ToProto(key, plan.response.add_cancel());
    }
  }
  for (const auto& [fence, lease] : leases_) {
    if (lease.attempt.worker_id == request.worker_id() && lease.attempt.epoch == request.epoch() &&
        !held_fences.contains(fence)) {
      plan.undelivered.push_back(lease.attempt.key);
    }
  }
  const bool takes_work = !request.draining() && gives_work_;
  plan.wanted = takes_work
                    ? std::max(0, request.free_slots() - static_cast<int>(plan.undelivered.size()))
                    : 0;
  return plan;
}

// Leases whose first answer the agent never got: with the same key, so that nothing runs twice.
absl::Status Dispatcher::AddUndelivered(Plan& plan) {
  for (const AttemptKey& key : plan.undelivered) {
    absl::StatusOr<LeasedAttempt> leased = store_.ReadLease(key);
    if (leased.status().code() == absl::StatusCode::kFailedPrecondition) {
      AttemptEnded(key);
      continue;
    }
    QB_RETURN_IF_ERROR(leased.status());
    QB_RETURN_IF_ERROR(AddAssignment(*leased, plan));
  }
  return absl::OkStatus();
}

absl::Status Dispatcher::AddNewLeases(const Call& call, Plan& plan) {
  LeaseQuery query;
  query.worker_id = call.request.worker_id();
  query.epoch = call.request.epoch();
  query.compiler_build = call.request.capabilities().compiler_build();
  query.targets.assign(call.request.capabilities().targets().begin(),
                       call.request.capabilities().targets().end());
  query.slots = std::max(1, call.request.capabilities().slots());
  query.total = ResourcesOf(call.request.capabilities());
  query.count = plan.wanted;
  query.running_limit = options_.running_limit;
  query.now_ms = clock_.WallMs();
  QB_ASSIGN_OR_RETURN(const LeaseOutcome outcome, store_.Lease(query));
  {
    // All of them first: a lease that only the store knows would never expire.
    absl::MutexLock lock(&mutex_);
    held_back_ = held_back_ || outcome.held_back;
    for (const LeasedAttempt& leased : outcome.leased) {
      AddLease(leased.attempt);
    }
  }
  for (const LeasedAttempt& leased : outcome.leased) {
    options_.log(LogLevel::kInfo, "attempt leased",
                 {{"job", leased.job_id},
                  {"tenant", leased.tenant},
                  {"attempt", absl::StrCat(leased.attempt.key.attempt)},
                  {"execution", absl::StrCat(leased.attempt.key.execution)},
                  {"worker", leased.attempt.worker_id},
                  {"traceparent", leased.traceparent}});
    QB_RETURN_IF_ERROR(AddAssignment(leased, plan));
  }
  if (outcome.next_run_after_ms.has_value()) {
    absl::MutexLock lock(&mutex_);
    next_work_wall_ms_ =
        std::min(next_work_wall_ms_.value_or(INT64_MAX), *outcome.next_run_after_ms);
  }
  return absl::OkStatus();
}

void Dispatcher::AddLease(const LiveAttempt& attempt) {
  const auto worker = workers_.find(attempt.worker_id);
  if (worker == workers_.end() || worker->second.epoch != attempt.epoch) {
    losing_.push_back(attempt.key);  // its process was replaced since it asked
    return;
  }
  Lease lease;
  lease.attempt = attempt;
  lease.deadline_ms = clock_.MonotonicMs() + options_.lease_ttl_ms;
  if (early_cancels_.erase(attempt.key.fence) > 0) {
    lease.attempt.cancel_requested = true;
    lease.give_up_ms = clock_.MonotonicMs() + options_.cancel_grace_ms;
  }
  leases_.emplace(attempt.key.fence, std::move(lease));
}

absl::Status Dispatcher::AddAssignment(const LeasedAttempt& leased, Plan& plan) {
  const AttemptKey& key = leased.attempt.key;
  absl::StatusOr<pb::Assignment> assignment = MakeAssignment(leased);
  if (!assignment.ok()) {
    // A job that an earlier version of the server accepted and this one cannot run.
    Completion completion;
    completion.outcome = pb::ATTEMPT_OUTCOME_FAILED;
    completion.failure =
        MakeFailure(FailureCodeOf(assignment.status()), assignment.status().message());
    completion.now_ms = clock_.WallMs();
    QB_RETURN_IF_ERROR(store_.Complete(key, completion).status());
    AttemptEnded(key);
    return absl::OkStatus();
  }
  const std::optional<bool> cancelled = FindLease(key);
  if (cancelled.has_value()) {
    *plan.response.add_assignments() = *std::move(assignment);
    if (*cancelled) {
      ToProto(key, plan.response.add_cancel());
    }
  }
  return absl::OkStatus();
}

// False when work or an answer came up since the plan was made.
bool Dispatcher::Park(const std::shared_ptr<Call>& call, int64_t generation) {
  std::shared_ptr<Call> replaced;
  {
    absl::MutexLock lock(&mutex_);
    const auto worker = workers_.find(call->request.worker_id());
    const bool is_current =
        worker != workers_.end() && worker->second.epoch == call->request.epoch();
    if (!is_current || closing_ || generation != generation_) {
      return false;
    }
    replaced = std::exchange(worker->second.parked, call);
  }
  if (replaced != nullptr) {
    Answer(replaced, absl::CancelledError("a later Sync came"));
  }
  return true;
}

void Dispatcher::Answer(const std::shared_ptr<Call>& call,
                        absl::StatusOr<pb::SyncResponse> response) {
  // Never under the mutex: `done` may do anything.
  call->done(std::move(response));
}

std::shared_ptr<Dispatcher::Call> Dispatcher::Unpark(const std::string& worker_id) {
  const auto worker = workers_.find(worker_id);
  return worker == workers_.end() ? nullptr : std::exchange(worker->second.parked, nullptr);
}

// ---- what others report

void Dispatcher::WorkAvailable(int64_t from_wall_ms) {
  std::vector<std::shared_ptr<Call>> woken;
  {
    absl::MutexLock lock(&mutex_);
    if (from_wall_ms > clock_.WallMs()) {
      next_work_wall_ms_ = std::min(next_work_wall_ms_.value_or(INT64_MAX), from_wall_ms);
      return;
    }
    ++generation_;
    for (auto& [id, worker] : workers_) {
      if (worker.parked != nullptr && worker.parked->request.free_slots() > 0 &&
          !worker.parked->request.draining()) {
        woken.push_back(std::exchange(worker.parked, nullptr));
      }
    }
  }
  for (std::shared_ptr<Call>& call : woken) {
    pool_.Schedule([this, call = std::move(call)] { Step(call); });
  }
}

void Dispatcher::CancelAttempt(const LiveAttempt& attempt) {
  std::shared_ptr<Call> woken;
  {
    absl::MutexLock lock(&mutex_);
    const int64_t now_ms = clock_.MonotonicMs();
    const auto lease = leases_.find(attempt.key.fence);
    if (lease == leases_.end()) {
      early_cancels_.emplace(attempt.key.fence, now_ms);
      return;
    }
    lease->second.attempt.cancel_requested = true;
    if (!lease->second.give_up_ms.has_value()) {
      lease->second.give_up_ms = now_ms + options_.cancel_grace_ms;
    }
    ++generation_;  // a call that is being planned looks again
    woken = Unpark(attempt.worker_id);
  }
  if (woken != nullptr) {
    pool_.Schedule([this, woken = std::move(woken)] { Step(woken); });
  }
}

void Dispatcher::AttemptEnded(const AttemptKey& key) {
  std::shared_ptr<Call> woken;
  bool makes_room = false;
  {
    absl::MutexLock lock(&mutex_);
    const auto lease = leases_.find(key.fence);
    if (lease == leases_.end()) {
      return;
    }
    makes_room = std::exchange(held_back_, false);
    const std::string worker_id = lease->second.attempt.worker_id;
    leases_.erase(lease);
    ++generation_;  // a call that is being planned looks again
    woken = Unpark(worker_id);
    if (woken != nullptr) {
      woken->ended.push_back(key.fence);
      woken->answer_now = true;
    }
  }
  if (woken != nullptr) {
    pool_.Schedule([this, woken = std::move(woken)] { Step(woken); });
  }
  if (makes_room) {
    WorkAvailable(0);  // perhaps for another worker
  }
}

std::optional<bool> Dispatcher::FindLease(const AttemptKey& key) const {
  absl::MutexLock lock(&mutex_);
  const auto lease = leases_.find(key.fence);
  if (lease == leases_.end() || !(lease->second.attempt.key == key)) {
    return std::nullopt;
  }
  return lease->second.attempt.cancel_requested;
}

void Dispatcher::StopGivingWork() {
  absl::MutexLock lock(&mutex_);
  gives_work_ = false;
}

void Dispatcher::Close() {
  std::vector<std::shared_ptr<Call>> parked;
  {
    absl::MutexLock lock(&mutex_);
    gives_work_ = false;
    closing_ = true;
    for (auto& [id, worker] : workers_) {
      if (worker.parked != nullptr) {
        parked.push_back(std::exchange(worker.parked, nullptr));
      }
    }
  }
  for (std::shared_ptr<Call>& call : parked) {
    pool_.Schedule([this, call = std::move(call)] { Step(call); });
  }
}

}  // namespace qb::server
