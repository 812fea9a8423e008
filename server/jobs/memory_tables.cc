#include "server/jobs/memory_tables.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/check.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/wire_time.h"

namespace qb::server {

MemoryJob* MemoryTables::FindJob(absl::string_view tenant, absl::string_view id) {
  for (auto& [row, job] : jobs) {
    if (job.job.id == id && job.job.tenant == tenant) {
      return &job;
    }
  }
  return nullptr;
}

MemoryExecution* MemoryTables::FindCurrent(const AttemptKey& key) {
  const auto it = executions.find(key.execution);
  if (it == executions.end()) {
    return nullptr;
  }
  MemoryExecution& execution = it->second;
  const bool live =
      execution.state == pb::JOB_STATE_RUNNING || execution.state == pb::JOB_STATE_CANCELLING;
  return live && execution.attempt == key.attempt && execution.fence == key.fence ? &execution
                                                                                  : nullptr;
}

std::vector<MemoryJob*> MemoryTables::JobsOf(int64_t execution) {
  std::vector<MemoryJob*> found;
  for (auto& [row, job] : jobs) {
    if (job.execution == execution && !job.end.has_value()) {
      found.push_back(&job);
    }
  }
  return found;
}

std::vector<pb::JobEvent> MemoryTables::EventsOf(const MemoryJob& job) const {
  std::vector<pb::JobEvent> events = executions.at(job.execution).events;
  if (job.end.has_value()) {
    events.resize(static_cast<size_t>(job.left_after_seq));
    events.push_back(*job.end);
  }
  return events;
}

pb::Job MemoryTables::Describe(const MemoryJob& job) const {
  const MemoryExecution& execution = executions.at(job.execution);
  pb::Job out;
  out.set_id(job.job.id);
  out.set_state(job.state);
  *out.mutable_spec() = job.job.spec;
  SetTime(job.job.now_ms, out.mutable_create_time());
  if (execution.started_ms.has_value()) {
    SetTime(std::max(job.job.now_ms, *execution.started_ms), out.mutable_start_time());
  }
  if (job.finished_ms.has_value() || execution.finished_ms.has_value()) {
    SetTime(job.finished_ms.has_value() ? *job.finished_ms : *execution.finished_ms,
            out.mutable_finish_time());
  }
  out.set_attempt_count(execution.attempt);
  out.set_worker_id(execution.worker);
  out.set_compiler_build(execution.build);
  out.set_resolved_config_json(execution.first.resolved_config_json);
  out.set_traceparent(job.job.traceparent);
  out.set_joined(job.joined);
  out.set_cache_hit(job.cache_hit);
  out.set_last_event_seq(static_cast<int64_t>(EventsOf(job).size()));
  if (job.end.has_value()) {
    *out.mutable_failure() = job.end->error().failure();
    return out;
  }
  if (execution.failure.has_value()) {
    *out.mutable_failure() = *execution.failure;
  }
  if (execution.progress.has_value()) {
    *out.mutable_progress() = *execution.progress;
  }
  if (execution.usage.has_value()) {
    *out.mutable_usage() = *execution.usage;
  }
  out.set_result_json(execution.result_json);
  out.set_wait_reason(execution.wait_reason);
  out.mutable_artifacts()->Add(execution.artifacts.begin(), execution.artifacts.end());
  return out;
}

void MemoryTables::SetJobState(MemoryJob& job, pb::JobState state) {
  if (job.state != state) {
    job.state = state;
    job.revision = ++revision;
  }
  notice.jobs_changed = true;
}

void MemoryTables::SetState(MemoryExecution& execution, pb::JobState state, int64_t now_ms) {
  QB_CHECK(MayChange(execution.state, state));
  execution.state = state;
  execution.finished_ms =
      IsTerminal(state) ? std::optional<int64_t>(now_ms) : std::optional<int64_t>();
  moved.push_back(execution.id);
  for (MemoryJob* job : JobsOf(execution.id)) {
    SetJobState(*job, state);
  }
}

void MemoryTables::AddEvent(MemoryExecution& execution, int64_t now_ms, pb::JobEvent event) {
  event.set_seq(static_cast<int64_t>(execution.events.size()) + 1);
  event.set_attempt(execution.attempt);
  SetTime(now_ms, event.mutable_time());
  execution.events.push_back(std::move(event));
  notice.executions.push_back(execution.id);
}

void MemoryTables::EnterState(MemoryExecution& execution, pb::JobState state, int64_t now_ms,
                              absl::string_view reason) {
  SetState(execution, state, now_ms);
  execution.wait_reason = IsWaiting(state) ? std::string(reason) : "";
  pb::JobEvent event;
  event.mutable_state()->set_state(state);
  event.mutable_state()->set_reason(std::string(reason));
  AddEvent(execution, now_ms, std::move(event));
}

void MemoryTables::Fail(MemoryExecution& execution, pb::JobState state, int64_t now_ms,
                        const pb::JobFailure& failure) {
  SetState(execution, state, now_ms);
  execution.failure = failure;
  execution.wait_reason = "";
  pb::JobEvent event;
  event.mutable_error()->set_state(state);
  *event.mutable_error()->mutable_failure() = failure;
  AddEvent(execution, now_ms, std::move(event));
}

void MemoryTables::Succeed(MemoryExecution& execution, const Completion& completion) {
  SetState(execution, pb::JOB_STATE_SUCCEEDED, completion.now_ms);
  execution.artifacts = completion.artifacts;
  execution.result_json = completion.result_json;
  if (!execution.action.empty()) {
    const auto [first, is_new] = results.emplace(
        std::make_tuple(execution.first.tenant, execution.action, execution.build), execution.id);
    const auto digests = [](const std::vector<pb::Artifact>& artifacts) {
      std::vector<std::pair<std::string, std::string>> names;
      names.reserve(artifacts.size());
      for (const pb::Artifact& artifact : artifacts) {
        names.emplace_back(artifact.name(), artifact.sha256());
      }
      return names;
    };
    if (!is_new &&
        digests(executions.at(first->second).artifacts) != digests(completion.artifacts)) {
      pb::JobEvent warning;
      warning.mutable_log()->set_severity(pb::LOG_SEVERITY_WARNING);
      warning.mutable_log()->set_logger("service");
      warning.mutable_log()->set_message(
          "nondeterministic_result: the same work had other output files before; later jobs keep "
          "getting the first ones");
      AddEvent(execution, completion.now_ms, std::move(warning));
    }
  }
  pb::JobEvent event;
  event.mutable_result()->set_result_json(completion.result_json);
  event.mutable_result()->mutable_artifacts()->Add(completion.artifacts.begin(),
                                                   completion.artifacts.end());
  AddEvent(execution, completion.now_ms, std::move(event));
}

void MemoryTables::LoseWorker(MemoryExecution& execution, const RetryPolicy& policy,
                              const AttemptLoss& loss) {
  if (execution.state != pb::JOB_STATE_CANCELLING && ++execution.deaths >= policy.max_deaths) {
    Fail(execution, pb::JOB_STATE_FAILED, loss.now_ms,
         MakeFailure(
             FailureCode::kPoison,
             absl::StrCat("attempt ", execution.attempt, ": ", loss.reason, "; ", execution.deaths,
                          " workers went away while they ran this job: it is not tried "
                          "again unless it is submitted again")));
    return;
  }
  Lose(execution, policy, loss);
}

void MemoryTables::Lose(MemoryExecution& execution, const RetryPolicy& policy,
                        const AttemptLoss& loss) {
  const int64_t now_ms = loss.now_ms;
  if (execution.state == pb::JOB_STATE_CANCELLING) {
    Fail(execution, pb::JOB_STATE_CANCELLED, now_ms,
         MakeFailure(FailureCode::kCancelled,
                     execution.cancel_reason.empty()
                         ? std::string("cancelled on request")
                         : absl::StrCat("cancelled on request: ", execution.cancel_reason)));
    return;
  }
  if (++execution.losses > policy.max_losses) {
    Fail(execution, pb::JOB_STATE_FAILED, now_ms,
         MakeFailure(loss.code, absl::StrCat("attempt ", execution.attempt, ": ", loss.reason,
                                             "; this was loss ", execution.losses,
                                             ", a job survives ", policy.max_losses)));
    return;
  }
  int64_t longest_ms = policy.base_wait_ms;
  for (int64_t i = 1; i < execution.losses && longest_ms < policy.max_wait_ms; ++i) {
    longest_ms *= 2;
  }
  longest_ms = std::min(longest_ms, policy.max_wait_ms);
  execution.run_after_ms =
      now_ms + static_cast<int64_t>(loss.random * static_cast<double>(longest_ms));
  notice.leasable_from_ms =
      std::min(notice.leasable_from_ms.value_or(execution.run_after_ms), execution.run_after_ms);
  EnterState(execution, pb::JOB_STATE_RETRY_WAIT, now_ms, loss.reason);
}

void MemoryTables::Leave(MemoryJob& job, pb::JobState state, int64_t now_ms,
                         const pb::JobFailure& failure) {
  MemoryExecution& execution = executions.at(job.execution);
  job.left_after_seq = static_cast<int64_t>(execution.events.size());
  pb::JobEvent event;
  event.set_seq(job.left_after_seq + 1);
  event.set_attempt(execution.attempt);
  SetTime(now_ms, event.mutable_time());
  event.mutable_error()->set_state(state);
  *event.mutable_error()->mutable_failure() = failure;
  job.end = std::move(event);
  job.finished_ms = now_ms;
  SetJobState(job, state);
  notice.executions.push_back(execution.id);
  FollowJobs(execution);
}

void MemoryTables::FollowJobs(MemoryExecution& execution) {
  moved.push_back(execution.id);
  int priority = INT32_MIN;
  int64_t expires_ms = INT64_MIN;
  for (const MemoryJob* job : JobsOf(execution.id)) {
    priority = std::max(priority, job->job.spec.priority());
    expires_ms = std::max(expires_ms, job->job.now_ms + ToMs(job->job.spec.queue_ttl()));
  }
  execution.priority = priority;
  execution.expires_ms = expires_ms;
}

}  // namespace qb::server
