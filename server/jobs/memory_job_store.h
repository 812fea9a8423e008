// A JobStore in memory: for tests that need no file, and the model that the conformance tests
// compare other forms with. Slow (it looks at every row) and never forgets.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/memory_tables.h"
#include "server/jobs/sqlite_job_store.h"

namespace qb::server {

class MemoryJobStore final : public JobStore {
 public:
  // Whether a tenant has a stored file.
  using HasBlob = std::function<bool(const std::string& tenant, const pb::Artifact& artifact)>;

  MemoryJobStore(SqliteJobStoreOptions options, HasBlob has_blob);

  // A restart of the server, perhaps with other options: the order of the queue is made anew, waits
  // are drawn from the first random number on.
  void Restart(SqliteJobStoreOptions options) ABSL_LOCKS_EXCLUDED(mutex_);

  void SetCommitListener(CommitListener listener) override;
  absl::StatusOr<SubmitOutcome> Submit(const NewJob& job) override;
  absl::StatusOr<std::optional<pb::Job>> FindRequest(absl::string_view tenant,
                                                     absl::string_view request_id,
                                                     absl::string_view fingerprint) override;
  absl::StatusOr<pb::Job> GetJob(absl::string_view tenant, absl::string_view job_id) override;
  absl::StatusOr<JobPosition> FindJob(absl::string_view tenant, absl::string_view job_id) override;
  absl::StatusOr<JobPage> ListJobs(const JobQuery& query) override;
  absl::StatusOr<ChangedJobs> ReadChangedJobs(const JobQuery& query, int64_t revision) override;
  absl::StatusOr<std::map<pb::JobState, int64_t>> CountJobs(absl::string_view tenant) override;
  absl::StatusOr<std::vector<pb::JobEvent>> ReadEvents(int64_t job, int64_t after_seq,
                                                       int max_events, int64_t max_bytes) override;
  absl::StatusOr<CancelOutcome> RequestCancel(absl::string_view tenant, absl::string_view job_id,
                                              absl::string_view reason, int64_t now_ms) override;
  absl::Status RegisterWorker(absl::string_view worker_id, absl::string_view epoch,
                              const pb::WorkerCapabilities& capabilities, int64_t now_ms) override;
  absl::StatusOr<LeaseOutcome> Lease(const LeaseQuery& query) override;
  absl::StatusOr<LeasedAttempt> ReadLease(const AttemptKey& key) override;
  absl::StatusOr<std::vector<LiveAttempt>> ListLiveAttempts() override;
  absl::StatusOr<EventsOutcome> AppendEvents(const AttemptKey& key,
                                             absl::Span<const pb::AttemptEvent> events,
                                             int64_t now_ms) override;
  absl::StatusOr<CompletionOutcome> Complete(const AttemptKey& key,
                                             const Completion& completion) override;
  absl::Status LoseAttempts(absl::Span<const AttemptKey> keys, absl::string_view reason,
                            int64_t now_ms) override;
  absl::StatusOr<int> ExpireQueued(int64_t now_ms) override;

 private:
  double Random() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<MemoryJob*> Known(const NewJob& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Share(const NewJob& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::optional<int64_t> FindResult(const NewJob& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  MemoryJob& AddJob(const NewJob& job, int64_t execution) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasAll(const std::string& tenant, const std::vector<pb::Artifact>& artifacts) const;
  bool IsWanted(const JobQuery& query, const MemoryJob& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LeasedAttempt LeaseOne(const LeaseQuery& query, const WorkQueue::Choice& choice)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  LeasedAttempt DescribeLease(const AttemptKey& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RefreshQueue(int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LoadIntoQueue(int64_t execution, int64_t now_ms) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(MemoryExecution& execution, const Completion& completion, double random)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends an operation: the listener hears what changed.
  void Tell() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HasBlob has_blob_;
  absl::Mutex mutex_;
  SqliteJobStoreOptions options_ ABSL_GUARDED_BY(mutex_);
  CommitListener listener_ ABSL_GUARDED_BY(mutex_);
  MemoryTables tables_ ABSL_GUARDED_BY(mutex_);
  std::mt19937_64 random_ ABSL_GUARDED_BY(mutex_);
  WorkQueue queue_ ABSL_GUARDED_BY(mutex_);
  bool queue_loaded_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace qb::server
