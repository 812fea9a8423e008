// Removes what is kept no longer: jobs after their time, results that answer nobody, files that
// nothing refers to, logs of work that is gone.
//
// A row goes before its file, and a file goes only after a commit that says so, so a crash in
// between leaves a file too many and never one too few; the next start or sweep removes it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/blobs/attempt_logs.h"
#include "server/blobs/blob_store.h"
#include "server/jobs/retention_policy.h"
#include "server/jobs/sqlite_retention.h"
#include "server/runtime/clock.h"

namespace qb::server {

// What the collector works on; all of it outlives it.
struct CollectorParts {
  SqliteRetention& retention;
  BlobStore& blobs;
  AttemptLogs& logs;
  const Clock& clock;
  // Called between two steps with the time that the one before took: what waits for the database
  // has its turn meanwhile. Empty: no pause.
  std::function<void(absl::Duration)> pause;
};

// What a round removed.
struct CollectedThings {
  int64_t jobs = 0;
  int64_t results = 0;     // that answered equal jobs
  int64_t blobs = 0;       // files
  int64_t blob_bytes = 0;  // of the files that nothing referred to
  int64_t uploads = 0;
  int64_t logs = 0;  // of executions

  bool operator==(const CollectedThings&) const = default;
};

// One round at a time.
class Collector {
 public:
  // `stop`: asked between the steps of a round; true ends it early.
  Collector(const CollectorParts& parts, const RetentionPolicy& policy, std::function<bool()> stop)
      : parts_(parts), policy_(policy), stop_(std::move(stop)) {}

  // Waits for the disk, often. Errors: those of the store and of files; what was done stays done.
  absl::StatusOr<CollectedThings> RunOnce();

 private:
  // Does `step`, which says how many it has removed, until none is left; adds them to `removed`.
  absl::Status Repeat(const std::function<absl::StatusOr<int>()>& step, int64_t& removed);
  absl::Status RemoveRows(CollectedThings& collected);
  absl::Status RemoveLogs(CollectedThings& collected);
  absl::Status Sweep(CollectedThings& collected);

  const CollectorParts parts_;
  const RetentionPolicy policy_;
  const std::function<bool()> stop_;
  int next_folder_ = 0;
};

}  // namespace qb::server
