// What metrics ask about the whole database, of all tenants together. Reads only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job.pb.h"
#include "server/jobs/sqlite_database.h"

namespace qb::server {

// Bands of the effective priority, as work_queue.h has them.
enum class PriorityBand { kHigh = 0, kNormal = 1, kLow = 2 };

struct StoreStatistics {
  std::map<qbc::v1::JobState, int64_t> jobs;  // states without jobs may be left out
  std::array<int64_t, 3> waiting = {};        // executions that wait, by PriorityBand
  std::optional<int64_t> oldest_queued_ms;    // wall time at which it was asked for
};

struct BlobStatistics {
  int64_t blobs = 0;
  int64_t bytes = 0;
};

// GPUs of a worker that is or was connected.
struct WorkerGpus {
  int64_t gpus = 0;
  int64_t busy = 0;  // that live attempts have for themselves
};

// A job that has ended.
struct FinishedJob {
  qbc::v1::JobState state = qbc::v1::JOB_STATE_UNSPECIFIED;
  qbc::v1::FailureReason reason = qbc::v1::FAILURE_REASON_UNSPECIFIED;
  int64_t queued_ms = 0;          // until its first attempt, or until its end
  std::optional<int64_t> run_ms;  // absent: it never ran, or its result was there
  bool cache_hit = false;
  int64_t revision = 0;  // of its end
};

// Thread-safe. Calls wait for the disk. Errors: those of SqliteReaders.
class SqliteStatistics {
 public:
  // `database` outlives it.
  explicit SqliteStatistics(SqliteDatabase& database) : database_(database) {}

  // `now_ms`: wall time. Costs about as much as there are waiting executions.
  absl::StatusOr<StoreStatistics> Read(int64_t now_ms);
  // Looks at every row of a blob.
  absl::StatusOr<BlobStatistics> ReadBlobs();
  // By worker id; workers without GPUs are left out.
  absl::StatusOr<std::map<std::string, WorkerGpus>> ReadGpus();
  // The revision of the last change.
  absl::StatusOr<int64_t> ReadRevision();
  // Calls `each` for the jobs that ended after `revision`, at most about 10 000. Returns the
  // revision to go on from.
  absl::StatusOr<int64_t> ReadFinished(int64_t revision,
                                       const std::function<void(const FinishedJob&)>& each);

 private:
  SqliteDatabase& database_;
};

}  // namespace qb::server
