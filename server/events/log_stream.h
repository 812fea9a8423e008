// What one ReadLog call sends: pieces of an attempt's log.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "proto/qbc/v1/job_service.pb.h"
#include "server/blobs/attempt_logs.h"
#include "server/events/watch_hub.h"
#include "server/jobs/job_store.h"
#include "server/runtime/frame_source.h"

namespace qb::server {

struct LogRange {
  std::string tenant;
  std::string job_id;
  int64_t execution = 0;
  int32_t attempt = 0;
  int64_t offset = 0;         // negative: that many bytes before the end
  int64_t limit = INT64_MAX;  // bytes
  bool follow = false;        // go on until the attempt is over
};

// One thread at a time. Holds at most one piece. Subscribed to the hub while it lives.
class LogStream final : public FrameSource<qbc::v1::ReadLogResponse> {
 public:
  LogStream(JobStore& store, AttemptLogs& logs, WatchHub& hub, LogRange range, WatchHub::Wake wake);
  ~LogStream() override;

  // Errors: those of the store and the files; Unavailable when the server ends while it follows.
  absl::StatusOr<StreamStep> Next(qbc::v1::ReadLogResponse& frame) override;

 private:
  absl::StatusOr<bool> IsOver();

  JobStore& store_;
  AttemptLogs& logs_;
  WatchHub& hub_;
  LogRange range_;
  const int64_t ticket_;
};

}  // namespace qb::server
