// Where jobs, attempts and events live. The store is the truth; everything else in the server is a
// cache of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include "proto/qbc/v1/event.pb.h"
#include "proto/qbc/v1/job.pb.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "server/jobs/job_state.h"
#include "server/jobs/resources.h"
#include "server/jobs/work_queue.h"

namespace qb::server {

// Names one attempt. `fence` grows over the life of the database, so one fence is one attempt.
struct AttemptKey {
  int64_t execution = 0;
  int32_t attempt = 0;
  int64_t fence = 0;

  bool operator==(const AttemptKey&) const = default;
};

struct NewJob {
  std::string tenant;
  std::string id;                   // UUIDv7
  std::string request_id;           // "": none
  std::string request_fingerprint;  // SHA-256 of the canonical body
  pb::JobSpec spec;                 // checked, with its defaults filled in
  std::string resolved_config_json;
  // Names the work (see ActionDigest); jobs with the same one may share an execution. "": none may.
  std::string action;
  // Compilers that may run the job now. A stored result or an attempt under way is shared only if
  // it is of one of them. Empty: no worker is known, so any build will do.
  std::vector<std::string> compiler_builds;
  Resources needs;
  bool prefers_gpu = false;  // takes one when there is a free one
  std::string traceparent;   // that came with the request; "": none
  // Jobs of the tenant that may wait; absent: as many as the store's own limit.
  std::optional<int64_t> max_waiting;
  int64_t now_ms = 0;  // wall clock, here and below
};

struct SubmitOutcome {
  pb::Job job;
  bool replayed = false;  // the request_id was known with the same body
};

// A job as a watcher needs it.
struct JobPosition {
  int64_t job = 0;        // the job's row
  int64_t execution = 0;  // the work that it hangs on
  pb::JobState state = pb::JOB_STATE_UNSPECIFIED;
  int64_t last_event_seq = 0;
  int32_t attempt_count = 0;
};

struct JobQuery {
  std::string tenant;
  std::vector<pb::JobState> states;         // empty: all
  std::string target_device;                // "": all
  std::optional<int64_t> created_after_ms;  // exclusive
  std::optional<int64_t> created_before_ms;
  int64_t before_row = 0;  // keyset: rows below this one; 0: from the newest
  int limit = 50;          // at least 1
  bool full = false;       // with the whole spec and the result
};

struct JobPage {
  std::vector<pb::Job> jobs;    // newest first
  int64_t next_before_row = 0;  // 0: no more
  int64_t revision = 0;         // of the store when the page was read
};

struct ChangedJobs {
  std::vector<pb::Job> jobs;  // by their revision
  int64_t revision = 0;       // all changes of the query up to here are in `jobs`
};

struct LiveAttempt {
  AttemptKey key;
  std::string worker_id;
  std::string epoch;
  bool cancel_requested = false;
  int64_t run_timeout_ms = 0;  // 0: not known
};

struct LeasedAttempt {
  LiveAttempt attempt;
  std::string job_id;
  std::string tenant;
  std::string traceparent;  // of that job; "": none
  pb::JobSpec spec;
  int64_t gpus = 0;  // of the worker, for this attempt alone
};

struct LeaseQuery {
  std::string worker_id;
  std::string epoch;
  std::string compiler_build;
  std::vector<std::string> targets;  // empty: all
  int slots = 1;                     // of the worker
  Resources total;                   // of the worker, see WorkerRoom
  int count = 1;
  WorkQueue::RunningLimit running_limit = nullptr;  // null: none
  int64_t now_ms = 0;
};

struct LeaseOutcome {
  std::vector<LeasedAttempt> leased;
  // Work was passed over only because its tenant runs as much as it may.
  bool held_back = false;
  // With nothing leased: when the next job leaves its RETRY_WAIT; absent: no such job.
  std::optional<int64_t> next_run_after_ms;
};

struct EventsOutcome {
  int64_t committed_seq = 0;  // of the attempt's own numbers
  bool cancel_requested = false;
};

struct Completion {
  pb::AttemptOutcome outcome = pb::ATTEMPT_OUTCOME_UNSPECIFIED;
  pb::JobFailure failure;               // FAILED and LOST
  std::vector<pb::Artifact> artifacts;  // SUCCEEDED; their blobs are stored
  std::string result_json;
  pb::ResourceUsage usage;
  int64_t now_ms = 0;
};

struct CompletionOutcome {
  pb::JobState state = pb::JOB_STATE_UNSPECIFIED;
  bool replayed = false;  // this attempt had been completed before; nothing changed
};

struct CancelOutcome {
  pb::Job job;
  // The attempt that must be told; absent also when other jobs want its work.
  std::optional<LiveAttempt> running;
};

// What a commit changed, for those who wait.
struct CommitNotice {
  std::vector<int64_t> executions;          // with new events
  bool jobs_changed = false;                // the state of some job
  std::optional<int64_t> leasable_from_ms;  // a job may be leased from this wall time on
};
// Runs on the store's writer thread after the commit and before the callers go on: must not wait
// and must not call the store.
using CommitListener = std::function<void(const CommitNotice&)>;

// Thread-safe. Calls wait for the disk: OK from a method that changes something means that the
// change is committed and synced. Errors that every method may give: Unavailable when the store has
// stopped after a disk error.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Once, before the first change.
  virtual void SetCommitListener(CommitListener listener) = 0;

  // As spec.cache_policy says, the job gets a stored result, joins equal work under way or starts
  // its own. Errors: AlreadyExists when the request_id is known with another fingerprint;
  // ResourceExhausted when the tenant has too many waiting jobs.
  virtual absl::StatusOr<SubmitOutcome> Submit(const NewJob& job) = 0;
  // The job of a request_id, if there is one. Errors: as Submit.
  virtual absl::StatusOr<std::optional<pb::Job>> FindRequest(absl::string_view tenant,
                                                             absl::string_view request_id,
                                                             absl::string_view fingerprint) = 0;

  // Errors: NotFound.
  virtual absl::StatusOr<pb::Job> GetJob(absl::string_view tenant, absl::string_view job_id) = 0;
  virtual absl::StatusOr<JobPosition> FindJob(absl::string_view tenant,
                                              absl::string_view job_id) = 0;
  virtual absl::StatusOr<JobPage> ListJobs(const JobQuery& query) = 0;
  // Jobs of `query` (without its before_row) that came or changed their state after `revision`,
  // each as it is now. Revisions grow over the life of the store.
  virtual absl::StatusOr<ChangedJobs> ReadChangedJobs(const JobQuery& query, int64_t revision) = 0;
  // How many jobs of the tenant are in each state.
  virtual absl::StatusOr<std::map<pb::JobState, int64_t>> CountJobs(absl::string_view tenant) = 0;
  // Events of a job (JobPosition.job) with seq > after_seq, ascending; at most `max_events`, and no
  // more once `max_bytes` are reached (one event always fits).
  virtual absl::StatusOr<std::vector<pb::JobEvent>> ReadEvents(int64_t job, int64_t after_seq,
                                                               int max_events,
                                                               int64_t max_bytes) = 0;

  // Waiting jobs end at once, running ones become CANCELLING, ended ones stay. A job whose work
  // others want as well ends at once and leaves the work alone. Errors: NotFound.
  virtual absl::StatusOr<CancelOutcome> RequestCancel(absl::string_view tenant,
                                                      absl::string_view job_id,
                                                      absl::string_view reason, int64_t now_ms) = 0;

  // Notes an agent process that has shown up, over the one before with its id.
  virtual absl::Status RegisterWorker(absl::string_view worker_id, absl::string_view epoch,
                                      const pb::WorkerCapabilities& capabilities,
                                      int64_t now_ms) = 0;
  // Gives out up to `count` waiting executions, in the order of WorkQueue.
  virtual absl::StatusOr<LeaseOutcome> Lease(const LeaseQuery& query) = 0;
  // The lease of a live attempt once more. Errors: FailedPrecondition "STALE_ATTEMPT".
  virtual absl::StatusOr<LeasedAttempt> ReadLease(const AttemptKey& key) = 0;
  virtual absl::StatusOr<std::vector<LiveAttempt>> ListLiveAttempts() = 0;

  // Errors: FailedPrecondition "STALE_ATTEMPT"; OutOfRange for a gap in the numbers.
  virtual absl::StatusOr<EventsOutcome> AppendEvents(const AttemptKey& key,
                                                     absl::Span<const pb::AttemptEvent> events,
                                                     int64_t now_ms) = 0;
  // Errors: FailedPrecondition "STALE_ATTEMPT".
  virtual absl::StatusOr<CompletionOutcome> Complete(const AttemptKey& key,
                                                     const Completion& completion) = 0;
  // The worker of these attempts is gone. Keys that are stale by now are left alone. A job under
  // which workers keep dying is not tried for ever: see RetryPolicy.
  virtual absl::Status LoseAttempts(absl::Span<const AttemptKey> keys, absl::string_view reason,
                                    int64_t now_ms) = 0;
  // Jobs that waited longer than their queue_ttl become EXPIRED. Returns how many.
  virtual absl::StatusOr<int> ExpireQueued(int64_t now_ms) = 0;
};

}  // namespace qb::server
