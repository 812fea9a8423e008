// The numbers of the first page.
#pragma once

#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/json.h"
#include "server/auth/authorize.h"
#include "server/jobs/sqlite_statistics.h"
#include "server/runtime/clock.h"
#include "server/service/job_service.h"
#include "server/service/server_info.h"

namespace qb::server {

// Thread-safe.
class OverviewReader {
 public:
  // All of them outlive it.
  OverviewReader(JobService& jobs, ServerInfo& info, SqliteStatistics& statistics,
                 const Clock& clock)
      : jobs_(jobs), info_(info), statistics_(statistics), clock_(clock) {}

  // {"counts": {state: n}, "workers": [...], "server_version", "targets": [...],
  //  "throughput": {"hours": [{"succeeded", "failed", "other"} of the last 24 hours, oldest first],
  //                 "complete": whether all jobs of that time were looked at}}
  absl::StatusOr<Json> Read(const Caller& caller);

 private:
  struct Kept {
    int64_t read_ms = 0;  // monotonic
    Json throughput;
  };
  absl::StatusOr<Json> Throughput(const Caller& caller);
  absl::StatusOr<Json> CountFinished(const Caller& caller);

  JobService& jobs_;
  ServerInfo& info_;
  SqliteStatistics& statistics_;
  const Clock& clock_;
  absl::Mutex mutex_;
  std::map<std::string, Kept> kept_ ABSL_GUARDED_BY(mutex_);  // by tenant
};

}  // namespace qb::server
