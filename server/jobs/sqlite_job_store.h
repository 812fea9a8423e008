// The JobStore in SQLite.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "server/jobs/event_filter.h"
#include "server/jobs/job_store.h"
#include "server/jobs/sqlite_database.h"
#include "server/jobs/sqlite_execution.h"
#include "server/jobs/sqlite_schedule.h"

namespace qb::server {

struct SqliteJobStoreOptions {
  RetryPolicy retry;
  EventLimits events;
  // Waiting jobs of a tenant; more are refused. Default 10 000.
  int64_t max_waiting_jobs = 10'000;
  // For the random part of retry waits.
  uint64_t seed = 1;
};

class SqliteJobStore final : public JobStore {
 public:
  // `database` outlives the store.
  SqliteJobStore(SqliteDatabase& database, SqliteJobStoreOptions options);

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
  double Random();

  SqliteDatabase& database_;
  const SqliteJobStoreOptions options_;
  std::mt19937_64 random_;   // used by the writer's thread alone
  SqliteSchedule schedule_;  // likewise
};

}  // namespace qb::server
