// Hands jobs to worker agents and notices when an agent is gone.
//
// Leases live here, in memory, with deadlines on a clock that never jumps; the store knows which
// attempts are live and decides every race by their fences. A new dispatcher gives each live
// attempt a whole lease, so a restart of the server costs no attempt.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/log_line.h"
#include "proto/qbc/v1/server_info.pb.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "server/jobs/job_store.h"
#include "server/runtime/clock.h"
#include "server/runtime/task_pool.h"

namespace qb::server {

struct DispatcherOptions {
  // A lease that is not renewed for this long is lost. Shorter: dead agents are noticed sooner,
  // short hiccups of the network cost attempts. Default 30 s.
  int64_t lease_ttl_ms = 30'000;
  // An attempt that is still there this long after its job's cancel is given up. Default 60 s.
  int64_t cancel_grace_ms = 60'000;
  // The agent ends a compile that exceeds its run_timeout; this long after that the server does, in
  // case the agent does not. Default 60 s.
  int64_t run_timeout_grace_ms = 60'000;
  // Compiles of a tenant that may run at a time. Any thread, must not wait. Default: no limit.
  WorkQueue::RunningLimit running_limit = nullptr;
  Log log;  // leases and losses
};

// Thread-safe. Methods that say so wait for the store; the others return at once.
class Dispatcher {
 public:
  using SyncDone = std::function<void(absl::StatusOr<pb::SyncResponse>)>;

  // All of them outlive the dispatcher.
  Dispatcher(JobStore& store, const Clock& clock, TaskPool& pool, DispatcherOptions options);

  // Takes over the live attempts of the store. Waits. Once, before anything else.
  absl::Status Start();

  // The agent's call. `done` runs exactly once, now or later, on any thread. Waits.
  // Errors: InvalidArgument; FailedPrecondition "STALE_WORKER"; those of the store.
  void Sync(const pb::SyncRequest& request, SyncDone done);

  // A job may be leased from this wall time on.
  void WorkAvailable(int64_t from_wall_ms);
  // The job of this attempt is CANCELLING: its agent is told.
  void CancelAttempt(const LiveAttempt& attempt);
  // The attempt has been completed: its agent may take more.
  void AttemptEnded(const AttemptKey& key);
  // Whether this attempt is leased, and then whether it is to be cancelled.
  std::optional<bool> FindLease(const AttemptKey& key) const;

  // Ends waits, loses dead leases, expires queued jobs. To be called several times a second. Waits.
  void Tick();
  // From now on no more work is given out; leases are renewed and cancels told as before.
  void StopGivingWork();
  // Answers every waiting call, and every later one with Unavailable.
  void Close();

  std::vector<qbc::v1::WorkerSummary> ListWorkers() const;
  // Why none of the connected workers can ever run such work, e.g. "NO_CAPABLE_WORKER: no connected
  // worker has 2 GPUs"; "" when one can. Names what was asked for, not what the workers are.
  std::string WhyNobody(const std::string& target, const Resources& needs) const;
  // Of the connected workers, each once, sorted. Empty when no worker is connected.
  std::vector<std::string> CompilerBuilds() const;

 private:
  struct Lease {
    LiveAttempt attempt;
    int64_t deadline_ms = 0;            // monotonic
    std::optional<int64_t> give_up_ms;  // monotonic, once it is to be cancelled
    std::optional<int64_t> overdue_ms;  // monotonic, once its compile process runs
  };
  // One Sync under way.
  struct Call {
    pb::SyncRequest request;
    SyncDone done;
    int64_t deadline_ms = 0;     // monotonic: when to answer at the latest
    std::vector<int64_t> ended;  // fences that were completed while the call waited
    bool answer_now = false;
  };
  struct Worker {
    std::string epoch;
    pb::WorkerCapabilities capabilities;
    int64_t seen_ms = 0;  // monotonic
    bool draining = false;
    std::shared_ptr<Call> parked;  // shared: the pool and the map may both hold it
  };
  struct Plan {
    pb::SyncResponse response;
    std::vector<AttemptKey> undelivered;
    int wanted = 0;
    int64_t generation = 0;
  };

  absl::Status Register(const pb::SyncRequest& request);
  absl::StatusOr<bool> NoteWorker(const pb::SyncRequest& request, std::shared_ptr<Call>& replaced);
  void RenewLeases(const pb::SyncRequest& request, int64_t now_ms)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectOldLeases(const pb::SyncRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Step(const std::shared_ptr<Call>& call);
  absl::StatusOr<Plan> MakePlan(Call& call);
  absl::Status AddUndelivered(Plan& plan);
  absl::Status AddNewLeases(const Call& call, Plan& plan);
  void AddLease(const LiveAttempt& attempt) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status AddAssignment(const LeasedAttempt& leased, Plan& plan);
  bool Park(const std::shared_ptr<Call>& call, int64_t generation);
  void Answer(const std::shared_ptr<Call>& call, absl::StatusOr<pb::SyncResponse> response);
  absl::Status LoseCollected(absl::string_view reason);
  void CollectExpired() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EndOverdue();
  std::shared_ptr<Call> Unpark(const std::string& worker_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  JobStore& store_;
  const Clock& clock_;
  TaskPool& pool_;
  const DispatcherOptions options_;

  mutable absl::Mutex mutex_;
  bool gives_work_ ABSL_GUARDED_BY(mutex_) = true;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t last_tick_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t last_expiry_ms_ ABSL_GUARDED_BY(mutex_) = 0;
  // Some tenant had to wait for the end of an attempt of its own.
  bool held_back_ ABSL_GUARDED_BY(mutex_) = false;
  // Grows when work appears: a call that found none waits only if it has not grown since.
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  std::optional<int64_t> next_work_wall_ms_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<int64_t, Lease> leases_ ABSL_GUARDED_BY(mutex_);  // by fence
  // Cancels that came between the commit of a lease and its entry above: fence -> monotonic time.
  absl::flat_hash_map<int64_t, int64_t> early_cancels_ ABSL_GUARDED_BY(mutex_);
  // Gone from `leases_`, not yet told to the store.
  std::vector<AttemptKey> losing_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Worker> workers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace qb::server
