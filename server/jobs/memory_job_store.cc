#include "server/jobs/memory_job_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "server/jobs/job_failure.h"
#include "server/jobs/wire_time.h"

namespace qb::server {
namespace {

absl::Status NoSuchJob(absl::string_view job_id) {
  return absl::NotFoundError(absl::StrCat("no job '", job_id, "'"));
}

bool IsAccepted(const NewJob& job, const std::string& build) {
  return job.compiler_builds.empty() ||
         std::find(job.compiler_builds.begin(), job.compiler_builds.end(), build) !=
             job.compiler_builds.end();
}

void KeepBasics(pb::Job& job) {
  job.mutable_spec()->mutable_model()->clear_entries();
  job.mutable_spec()->clear_calibration();
  job.mutable_spec()->clear_evaluation();
  job.mutable_spec()->mutable_config()->clear_file_text();
  job.mutable_spec()->mutable_config()->clear_overrides_json();
  job.clear_result_json();
  job.clear_resolved_config_json();
}

}  // namespace

MemoryJobStore::MemoryJobStore(SqliteJobStoreOptions options, HasBlob has_blob)
    : has_blob_(std::move(has_blob)), options_(options), random_(options_.seed) {}

void MemoryJobStore::Restart(SqliteJobStoreOptions options) {
  absl::MutexLock lock(&mutex_);
  options_ = options;
  random_.seed(options_.seed);
  queue_ = WorkQueue();
  queue_loaded_ = false;
  tables_.moved.clear();
}

double MemoryJobStore::Random() { return static_cast<double>(random_() >> 11) * 0x1.0p-53; }

void MemoryJobStore::SetCommitListener(CommitListener listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

void MemoryJobStore::Tell() {
  CommitNotice notice = std::exchange(tables_.notice, CommitNotice());
  std::sort(notice.executions.begin(), notice.executions.end());
  notice.executions.erase(std::unique(notice.executions.begin(), notice.executions.end()),
                          notice.executions.end());
  if (listener_ &&
      (!notice.executions.empty() || notice.jobs_changed || notice.leasable_from_ms.has_value())) {
    listener_(notice);
  }
}

bool MemoryJobStore::HasAll(const std::string& tenant,
                            const std::vector<pb::Artifact>& artifacts) const {
  return std::all_of(artifacts.begin(), artifacts.end(),
                     [&](const pb::Artifact& artifact) { return has_blob_(tenant, artifact); });
}

// ---- submit

absl::StatusOr<MemoryJob*> MemoryJobStore::Known(const NewJob& wanted) {
  for (auto& [row, job] : tables_.jobs) {
    if (!wanted.request_id.empty() && job.job.tenant == wanted.tenant &&
        job.job.request_id == wanted.request_id) {
      if (job.job.request_fingerprint != wanted.request_fingerprint) {
        return absl::AlreadyExistsError(
            absl::StrCat("REQUEST_ID_REUSED: request_id '", wanted.request_id, "' belongs to job '",
                         job.job.id, "', which was asked for with another spec"));
      }
      return &job;
    }
  }
  return nullptr;
}

MemoryJob& MemoryJobStore::AddJob(const NewJob& wanted, int64_t execution) {
  const int64_t row = static_cast<int64_t>(tables_.jobs.size()) + 1;
  MemoryJob& job = tables_.jobs[row];
  job.row = row;
  job.job = wanted;
  job.execution = execution;
  job.revision = ++tables_.revision;
  tables_.notice.jobs_changed = true;
  return job;
}

std::optional<int64_t> MemoryJobStore::FindResult(const NewJob& job) {
  std::vector<std::pair<int64_t, decltype(tables_.results)::key_type>> found;
  for (const auto& [key, execution] : tables_.results) {
    if (std::get<0>(key) == job.tenant && std::get<1>(key) == job.action &&
        IsAccepted(job, std::get<2>(key))) {
      found.emplace_back(execution, key);
    }
  }
  std::sort(found.rbegin(), found.rend());
  for (const auto& [execution, key] : found) {
    if (HasAll(job.tenant, tables_.executions.at(execution).artifacts)) {
      return execution;
    }
    tables_.results.erase(key);
  }
  return std::nullopt;
}

bool MemoryJobStore::Share(const NewJob& wanted) {
  if (wanted.spec.cache_policy() != pb::CACHE_POLICY_REFRESH) {
    if (const std::optional<int64_t> result = FindResult(wanted); result.has_value()) {
      MemoryJob& job = AddJob(wanted, *result);
      job.state = pb::JOB_STATE_SUCCEEDED;
      job.cache_hit = true;
      job.finished_ms = wanted.now_ms;
      return true;
    }
  }
  for (auto& [id, execution] : tables_.executions) {
    const bool in_flight = IsWaiting(execution.state) || execution.state == pb::JOB_STATE_RUNNING;
    if (!in_flight || execution.action != wanted.action ||
        execution.first.tenant != wanted.tenant ||
        ToMs(execution.first.spec.run_timeout()) != ToMs(wanted.spec.run_timeout())) {
      continue;
    }
    if (execution.state == pb::JOB_STATE_RUNNING && !IsAccepted(wanted, execution.build)) {
      execution.action = "";
      return false;
    }
    MemoryJob& job = AddJob(wanted, id);
    job.state = execution.state;
    job.joined = true;
    tables_.FollowJobs(execution);
    return true;
  }
  return false;
}

absl::StatusOr<SubmitOutcome> MemoryJobStore::Submit(const NewJob& wanted) {
  absl::MutexLock lock(&mutex_);
  SubmitOutcome outcome;
  QB_ASSIGN_OR_RETURN(const MemoryJob* known, Known(wanted));
  if (known != nullptr) {
    outcome.job = tables_.Describe(*known);
    outcome.replayed = true;
    return outcome;
  }
  const bool shared =
      !wanted.action.empty() && wanted.spec.cache_policy() != pb::CACHE_POLICY_BYPASS;
  if (!shared || !Share(wanted)) {
    int64_t waiting = 0;
    for (const auto& [row, job] : tables_.jobs) {
      waiting += job.job.tenant == wanted.tenant && IsWaiting(job.state) ? 1 : 0;
    }
    const int64_t most = wanted.max_waiting.value_or(options_.max_waiting_jobs);
    if (most > 0 && waiting >= most) {
      return absl::ResourceExhaustedError(absl::StrCat("queue: ", most,
                                                       " jobs are waiting, no more are accepted; "
                                                       "submit again when some have ended"));
    }
    const int64_t id = static_cast<int64_t>(tables_.executions.size()) + 1;
    MemoryExecution& execution = tables_.executions[id];
    execution.id = id;
    execution.first = wanted;
    execution.priority = wanted.spec.priority();
    execution.expires_ms = wanted.now_ms + ToMs(wanted.spec.queue_ttl());
    execution.action = shared ? wanted.action : "";
    AddJob(wanted, id);
    tables_.EnterState(execution, pb::JOB_STATE_QUEUED, wanted.now_ms, "");
    tables_.notice.leasable_from_ms = 0;
  }
  outcome.job = tables_.Describe(tables_.jobs.rbegin()->second);
  Tell();
  return outcome;
}

absl::StatusOr<std::optional<pb::Job>> MemoryJobStore::FindRequest(absl::string_view tenant,
                                                                   absl::string_view request_id,
                                                                   absl::string_view fingerprint) {
  NewJob wanted;
  wanted.tenant = std::string(tenant);
  wanted.request_id = std::string(request_id);
  wanted.request_fingerprint = std::string(fingerprint);
  absl::MutexLock lock(&mutex_);
  QB_ASSIGN_OR_RETURN(const MemoryJob* known, Known(wanted));
  return known == nullptr ? std::optional<pb::Job>() : tables_.Describe(*known);
}

// ---- reads

absl::StatusOr<pb::Job> MemoryJobStore::GetJob(absl::string_view tenant, absl::string_view job_id) {
  absl::MutexLock lock(&mutex_);
  const MemoryJob* job = tables_.FindJob(tenant, job_id);
  return job == nullptr ? absl::StatusOr<pb::Job>(NoSuchJob(job_id)) : tables_.Describe(*job);
}

absl::StatusOr<JobPosition> MemoryJobStore::FindJob(absl::string_view tenant,
                                                    absl::string_view job_id) {
  absl::MutexLock lock(&mutex_);
  const MemoryJob* job = tables_.FindJob(tenant, job_id);
  if (job == nullptr) {
    return NoSuchJob(job_id);
  }
  JobPosition position;
  position.job = job->row;
  position.execution = job->execution;
  position.state = job->state;
  position.last_event_seq = static_cast<int64_t>(tables_.EventsOf(*job).size());
  position.attempt_count = tables_.executions.at(job->execution).attempt;
  return position;
}

bool MemoryJobStore::IsWanted(const JobQuery& query, const MemoryJob& job) const {
  return job.job.tenant == query.tenant &&
         (query.states.empty() ||
          std::find(query.states.begin(), query.states.end(), job.state) != query.states.end()) &&
         (query.target_device.empty() || query.target_device == job.job.spec.target_device()) &&
         (!query.created_after_ms.has_value() || job.job.now_ms > *query.created_after_ms) &&
         (!query.created_before_ms.has_value() || job.job.now_ms < *query.created_before_ms);
}

absl::StatusOr<JobPage> MemoryJobStore::ListJobs(const JobQuery& query) {
  absl::MutexLock lock(&mutex_);
  JobPage page;
  page.revision = tables_.revision;
  int64_t last_row = 0;
  for (auto it = tables_.jobs.rbegin(); it != tables_.jobs.rend(); ++it) {
    const MemoryJob& job = it->second;
    if ((query.before_row > 0 && job.row >= query.before_row) || !IsWanted(query, job)) {
      continue;
    }
    if (page.jobs.size() == static_cast<size_t>(query.limit)) {
      page.next_before_row = last_row;
      break;
    }
    last_row = job.row;
    page.jobs.push_back(tables_.Describe(job));
    if (!query.full) {
      KeepBasics(page.jobs.back());
    }
  }
  return page;
}

absl::StatusOr<ChangedJobs> MemoryJobStore::ReadChangedJobs(const JobQuery& query,
                                                            int64_t revision) {
  absl::MutexLock lock(&mutex_);
  std::map<int64_t, const MemoryJob*> by_revision;
  for (const auto& [row, job] : tables_.jobs) {
    if (job.revision > revision && IsWanted(query, job)) {
      by_revision[job.revision] = &job;
    }
  }
  ChangedJobs changed;
  changed.revision = std::max(tables_.revision, revision);
  for (const auto& [at, job] : by_revision) {
    if (changed.jobs.size() == static_cast<size_t>(query.limit)) {
      break;
    }
    changed.jobs.push_back(tables_.Describe(*job));
    if (!query.full) {
      KeepBasics(changed.jobs.back());
    }
    if (changed.jobs.size() == static_cast<size_t>(query.limit)) {
      changed.revision = at;
    }
  }
  return changed;
}

absl::StatusOr<std::map<pb::JobState, int64_t>> MemoryJobStore::CountJobs(
    absl::string_view tenant) {
  absl::MutexLock lock(&mutex_);
  std::map<pb::JobState, int64_t> counts;
  for (const auto& [row, job] : tables_.jobs) {
    if (job.job.tenant == tenant) {
      ++counts[job.state];
    }
  }
  return counts;
}

absl::StatusOr<std::vector<pb::JobEvent>> MemoryJobStore::ReadEvents(int64_t job, int64_t after_seq,
                                                                     int max_events,
                                                                     int64_t max_bytes) {
  absl::MutexLock lock(&mutex_);
  const auto it = tables_.jobs.find(job);
  if (it == tables_.jobs.end()) {
    return absl::NotFoundError(absl::StrCat("no job row ", job));
  }
  std::vector<pb::JobEvent> events;
  int64_t bytes = 0;
  for (pb::JobEvent& event : tables_.EventsOf(it->second)) {
    if (event.seq() > after_seq && bytes < max_bytes &&
        events.size() < static_cast<size_t>(max_events)) {
      bytes += static_cast<int64_t>(event.ByteSizeLong());
      events.push_back(std::move(event));
    }
  }
  return events;
}

// ---- cancel and expiry

absl::StatusOr<CancelOutcome> MemoryJobStore::RequestCancel(absl::string_view tenant,
                                                            absl::string_view job_id,
                                                            absl::string_view reason,
                                                            int64_t now_ms) {
  absl::MutexLock lock(&mutex_);
  MemoryJob* job = tables_.FindJob(tenant, job_id);
  if (job == nullptr) {
    return NoSuchJob(job_id);
  }
  CancelOutcome outcome;
  MemoryExecution& execution = tables_.executions.at(job->execution);
  const pb::JobFailure failure = MakeFailure(
      FailureCode::kCancelled, reason.empty() ? std::string("cancelled on request")
                                              : absl::StrCat("cancelled on request: ", reason));
  if (!IsTerminal(job->state) && tables_.JobsOf(job->execution).size() > 1) {
    tables_.Leave(*job, pb::JOB_STATE_CANCELLED, now_ms, failure);
  } else if (IsWaiting(job->state)) {
    execution.cancel_reason = std::string(reason);
    tables_.Fail(execution, pb::JOB_STATE_CANCELLED, now_ms, failure);
  } else if (job->state == pb::JOB_STATE_RUNNING) {
    execution.cancel_reason = std::string(reason);
    tables_.EnterState(execution, pb::JOB_STATE_CANCELLING, now_ms, reason);
  }
  if (job->state == pb::JOB_STATE_CANCELLING) {
    outcome.running = DescribeLease({execution.id, execution.attempt, execution.fence}).attempt;
  }
  outcome.job = tables_.Describe(*job);
  Tell();
  return outcome;
}

absl::StatusOr<int> MemoryJobStore::ExpireQueued(int64_t now_ms) {
  absl::MutexLock lock(&mutex_);
  std::map<std::pair<int64_t, int64_t>, MemoryJob*> expired;  // the longest overdue first
  for (auto& [row, job] : tables_.jobs) {
    const int64_t expires_ms = job.job.now_ms + ToMs(job.job.spec.queue_ttl());
    if (job.state == pb::JOB_STATE_QUEUED && expires_ms <= now_ms &&
        tables_.executions.at(job.execution).attempt == 0) {
      expired[{expires_ms, row}] = &job;
    }
  }
  for (const auto& [order, expired_job] : expired) {
    MemoryJob& job = *expired_job;
    MemoryExecution& execution = tables_.executions.at(job.execution);
    const pb::JobFailure failure =
        MakeFailure(FailureCode::kQueueExpired, "no worker took the job within its queue_ttl");
    if (tables_.JobsOf(job.execution).size() > 1) {
      tables_.Leave(job, pb::JOB_STATE_EXPIRED, now_ms, failure);
    } else {
      tables_.Fail(execution, pb::JOB_STATE_EXPIRED, now_ms, failure);
    }
  }
  Tell();
  return static_cast<int>(expired.size());
}

}  // namespace qb::server
