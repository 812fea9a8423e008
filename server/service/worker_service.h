// What worker agents ask and report, without any network in it.
#pragma once

#include <utility>

#include "absl/status/status.h"

#include "core/base/log_line.h"
#include "proto/qbc/v1/worker_service.pb.h"
#include "server/auth/authorize.h"
#include "server/blobs/attempt_logs.h"
#include "server/dispatch/dispatcher.h"
#include "server/jobs/job_store.h"
#include "server/runtime/clock.h"

namespace qb::server {

struct WorkerServiceOptions {
  int max_events = 256;                            // of one AppendEvents
  int64_t max_log_piece_bytes = int64_t{1} << 20;  // of one PutLog
  int max_artifacts = 256;
  int64_t max_result_bytes = int64_t{256} << 10;
  Log log;  // ends of attempts
};

// Thread-safe. Calls wait for the store. The comments of worker_service.proto say what they do.
class WorkerService {
 public:
  // All of them outlive the service.
  WorkerService(JobStore& store, AttemptLogs& logs, Dispatcher& dispatcher, const Clock& clock,
                WorkerServiceOptions options)
      : store_(store),
        logs_(logs),
        dispatcher_(dispatcher),
        clock_(clock),
        options_(std::move(options)) {}

  void Sync(const Caller& caller, const pb::SyncRequest& request, Dispatcher::SyncDone done);
  absl::Status AppendEvents(const Caller& caller, const pb::AppendEventsRequest& request,
                            pb::AppendEventsResponse& response);
  absl::Status PutLog(const Caller& caller, const pb::PutLogRequest& request,
                      pb::PutLogResponse& response);
  absl::Status CompleteAttempt(const Caller& caller, const pb::CompleteAttemptRequest& request,
                               pb::CompleteAttemptResponse& response);

 private:
  absl::Status CheckCompletion(const pb::CompleteAttemptRequest& request) const;

  JobStore& store_;
  AttemptLogs& logs_;
  Dispatcher& dispatcher_;
  const Clock& clock_;
  const WorkerServiceOptions options_;
};

}  // namespace qb::server
