// The rows of MemoryJobStore and what changes them: the same rules as the sqlite_* files, written
// down a second time and in the plainest way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/base/failure.h"
#include "server/jobs/event_filter.h"
#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_execution.h"
#include "server/jobs/work_queue.h"

namespace qb::server {

struct MemoryExecution {
  int64_t id = 0;
  NewJob first;  // the job that started it
  pb::JobState state = pb::JOB_STATE_UNSPECIFIED;
  int priority = 0;
  int64_t run_after_ms = 0;
  int64_t expires_ms = 0;
  std::string action;  // "": not shared
  int32_t attempt = 0;
  int64_t fence = 0;
  int64_t losses = 0;
  int64_t deaths = 0;
  std::vector<pb::JobEvent> events;
  std::optional<int64_t> started_ms;
  std::optional<int64_t> finished_ms;
  std::string cancel_reason;
  std::string wait_reason;
  std::optional<pb::JobProgress> progress;
  std::optional<pb::JobFailure> failure;
  std::optional<pb::ResourceUsage> usage;
  std::string result_json;
  std::vector<pb::Artifact> artifacts;
  std::string worker;
  std::string build;
};

struct MemoryJob {
  int64_t row = 0;
  NewJob job;
  int64_t execution = 0;
  pb::JobState state = pb::JOB_STATE_UNSPECIFIED;
  bool joined = false;
  bool cache_hit = false;
  int64_t revision = 0;
  std::optional<int64_t> finished_ms;  // of a job that left or came late
  std::optional<pb::JobEvent> end;     // of a job that left
  int64_t left_after_seq = 0;          // of a job that left
};

enum class MemoryAttemptState { kLive, kCompleted, kLost };

struct MemoryAttempt {
  AttemptKey key;
  MemoryAttemptState state = MemoryAttemptState::kLive;
  std::string worker;
  std::string epoch;
  int64_t leased_ms = 0;
  int64_t gpus = 0;
  double cost = 1;
  int64_t committed_seq = 0;
  EventTally tally;
};

struct MemoryTables {
  std::map<int64_t, MemoryExecution> executions;
  std::map<int64_t, MemoryJob> jobs;          // by row
  std::map<int64_t, MemoryAttempt> attempts;  // by fence
  // tenant, action, build -> execution
  std::map<std::tuple<std::string, std::string, std::string>, int64_t> results;
  int64_t next_fence = 1;
  int64_t revision = 0;
  CommitNotice notice;         // of the operation under way
  std::vector<int64_t> moved;  // for the queue

  MemoryJob* FindJob(absl::string_view tenant, absl::string_view id);
  // Null when the key is not the current one.
  MemoryExecution* FindCurrent(const AttemptKey& key);
  // Jobs that still hang on the execution.
  std::vector<MemoryJob*> JobsOf(int64_t execution);

  pb::Job Describe(const MemoryJob& job) const;
  std::vector<pb::JobEvent> EventsOf(const MemoryJob& job) const;
  void SetJobState(MemoryJob& job, pb::JobState state);
  void AddEvent(MemoryExecution& execution, int64_t now_ms, pb::JobEvent event);
  void EnterState(MemoryExecution& execution, pb::JobState state, int64_t now_ms,
                  absl::string_view reason);
  void Fail(MemoryExecution& execution, pb::JobState state, int64_t now_ms,
            const pb::JobFailure& failure);
  void Succeed(MemoryExecution& execution, const Completion& completion);
  void Lose(MemoryExecution& execution, const RetryPolicy& policy, const AttemptLoss& loss);
  void LoseWorker(MemoryExecution& execution, const RetryPolicy& policy, const AttemptLoss& loss);
  // Ends one job of several.
  void Leave(MemoryJob& job, pb::JobState state, int64_t now_ms, const pb::JobFailure& failure);
  // Priority and patience follow those of the jobs.
  void FollowJobs(MemoryExecution& execution);

 private:
  void SetState(MemoryExecution& execution, pb::JobState state, int64_t now_ms);
};

}  // namespace qb::server
