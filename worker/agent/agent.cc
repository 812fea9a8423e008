#include "worker/agent/agent.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "worker/agent/backoff.h"

namespace qb::worker {
namespace {

void SetDuration(absl::Duration value, google::protobuf::Duration* duration) {
  duration->set_seconds(absl::IDivDuration(value, absl::Seconds(1), &value));
  duration->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(value)));
}

}  // namespace

Agent::Agent(AgentOptions options, WorkerStub& stub, ChildRunner& runner, Log log)
    : options_(std::move(options)), stub_(stub), runner_(runner), log_(std::move(log)) {
  // These threads start the compile processes and therefore live as long as the agent.
  for (int i = 0; i < options_.capabilities.slots(); ++i) {
    slots_.emplace_back([this] { SlotLoop(); });
  }
}

Agent::~Agent() {
  AbandonAll();
  JoinSlots();
}

absl::Status Agent::Run() {
  Backoff backoff = ServerBackoff();
  bool reachable = true;
  absl::Status end = absl::OkStatus();
  while (!Done()) {
    const absl::Status status = SyncOnce();
    if (status.ok()) {
      if (!reachable) {
        log_(LogLevel::kInfo, "the server answers again");
      }
      reachable = true;
      backoff.Reset();
      continue;
    }
    if (absl::StartsWith(status.message(), "STALE_WORKER")) {
      end = absl::FailedPreconditionError(
          absl::StrCat("another process has taken over worker '", options_.worker_id, "'"));
      break;
    }
    if (reachable) {
      log_(LogLevel::kWarning,
           absl::StrCat("no answer from the server, trying on: ", status.ToString()));
    }
    reachable = false;
    Pause(backoff.Next());
  }
  AbandonAll();
  JoinSlots();
  if (end.ok()) {
    // Tells the server that nothing is held any more. When it does not answer, the lease runs out.
    SyncOnce().IgnoreError();
  }
  return end;
}

void Agent::Shutdown() {
  absl::MutexLock lock(&mutex_);
  if (shutting_down_) {
    return;
  }
  shutting_down_ = true;
  give_up_at_ = absl::Now() + options_.attempt.kill_grace + options_.shutdown_patience;
  for (const auto& [fence, attempt] : held_) {
    attempt->stop().Request(StopReason::kShutdown);
  }
  Changed();
}

void Agent::SlotLoop() {
  const auto has_work = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return slots_end_ || !waiting_.empty();
  };
  while (true) {
    Attempt* attempt = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(&has_work));
      if (waiting_.empty()) {
        return;
      }
      attempt = waiting_.front();
      waiting_.pop_front();
    }
    log_(LogLevel::kInfo, "attempt starts", attempt->IdentityForLog());
    attempt->Run();
    log_(LogLevel::kInfo, absl::StrCat("attempt ends: ", attempt->summary()),
         attempt->IdentityForLog());
    absl::MutexLock lock(&mutex_);
    const int64_t fence = attempt->key().fence();
    gpus_.GiveBack(held_gpus_[fence]);
    held_gpus_.erase(fence);
    held_.erase(fence);
    Changed();
  }
}

void Agent::CheckGpus() {
  if (options_.gpus == nullptr || absl::Now() < next_gpu_check_) {
    return;
  }
  next_gpu_check_ = absl::Now() + options_.gpu_check_interval;
  const absl::StatusOr<std::vector<std::string>> names = options_.gpus();
  if (!names.ok()) {
    log_(LogLevel::kWarning, absl::StrCat("GPUs: ", names.status().message()));
  }
  const GpuSlots::Change change = gpus_.Update(names.ok() ? *names : std::vector<std::string>());
  for (const std::string& name : change.gone) {
    log_(LogLevel::kError, absl::StrCat("GPU ", name, " has disappeared: its slot is closed"));
  }
  for (const std::string& name : change.come) {
    log_(LogLevel::kInfo, absl::StrCat("GPU ", name, " is there"));
  }
}

absl::Status Agent::SyncOnce() {
  CheckGpus();
  v1::SyncRequest request;
  {
    absl::MutexLock lock(&mutex_);
    request = BuildRequest();
    changed_ = false;
    sync_under_way_ = true;
    sync_handle_.Reset();
  }
  const absl::Time start = absl::Now();
  const absl::StatusOr<v1::SyncResponse> response = stub_.Sync(request, sync_handle_);
  bool changed = false;
  {
    absl::MutexLock lock(&mutex_);
    sync_under_way_ = false;
    changed = changed_;
  }
  if (!response.ok()) {
    const bool by_us = changed && absl::IsCancelled(response.status());
    return by_us ? absl::OkStatus() : response.status();
  }
  Apply(*response);
  // A server that has nothing to say and still answers at once must not make us spin.
  if (response->assignments().empty() && absl::Now() - start < absl::Milliseconds(5)) {
    Pause(absl::Milliseconds(20));
  }
  return absl::OkStatus();
}

v1::SyncRequest Agent::BuildRequest() {
  v1::SyncRequest request;
  request.set_worker_id(options_.worker_id);
  request.set_epoch(options_.epoch);
  *request.mutable_capabilities() = options_.capabilities;
  for (std::string& name : gpus_.Names()) {
    *request.mutable_capabilities()->add_gpus() = std::move(name);
  }
  for (const auto& [fence, attempt] : held_) {
    v1::HeldAttempt* held = request.add_held();
    *held->mutable_key() = attempt->key();
    held->set_phase(attempt->phase());
  }
  const int held_count = static_cast<int>(held_.size());
  request.set_free_slots(shutting_down_ ? 0
                                        : std::max(options_.capabilities.slots() - held_count, 0));
  request.set_draining(shutting_down_);
  SetDuration(shutting_down_ ? absl::ZeroDuration() : options_.max_wait,
              request.mutable_max_wait());
  return request;
}

void Agent::Apply(const v1::SyncResponse& response) {
  absl::MutexLock lock(&mutex_);
  for (const v1::AttemptKey& key : response.kill()) {
    StopHeld(key, StopReason::kAbandoned);
  }
  for (const v1::AttemptKey& key : response.cancel()) {
    StopHeld(key, StopReason::kCancelled);
  }
  for (const v1::Assignment& assignment : response.assignments()) {
    const int64_t fence = assignment.key().fence();
    // What is not taken now is handed out again: the next request shows that it is not held.
    const bool room = static_cast<int>(held_.size()) < options_.capabilities.slots();
    if (shutting_down_ || !room || held_.count(fence) > 0) {
      continue;
    }
    absl::StatusOr<std::vector<std::string>> gpus = gpus_.Take(assignment.gpus());
    if (!gpus.ok()) {
      log_(LogLevel::kWarning, absl::StrCat("attempt is not taken: ", gpus.status().message()),
           {{"job", assignment.job_id()}});
      continue;
    }
    AttemptSettings settings = options_.attempt;
    settings.gpus = *gpus;
    held_gpus_[fence] = *std::move(gpus);
    auto attempt = std::make_unique<Attempt>(assignment, std::move(settings), stub_, runner_);
    waiting_.push_back(attempt.get());
    held_.emplace(fence, std::move(attempt));
  }
}

void Agent::StopHeld(const v1::AttemptKey& key, StopReason reason) {
  const auto it = held_.find(key.fence());
  if (it != held_.end()) {
    it->second->stop().Request(reason);
  }
}

void Agent::Changed() {
  changed_ = true;
  if (sync_under_way_) {
    sync_handle_.Cancel();
  }
}

void Agent::Pause(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&changed_), timeout);
}

bool Agent::Done() {
  absl::MutexLock lock(&mutex_);
  return shutting_down_ && (held_.empty() || absl::Now() >= give_up_at_);
}

void Agent::AbandonAll() {
  absl::MutexLock lock(&mutex_);
  slots_end_ = true;
  for (const auto& [fence, attempt] : held_) {
    attempt->stop().Request(StopReason::kAbandoned);
  }
}

void Agent::JoinSlots() {
  for (std::thread& slot : slots_) {
    slot.join();
  }
  slots_.clear();
}

}  // namespace qb::worker
