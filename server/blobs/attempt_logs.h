// The output of compile processes: append-only files, one set an attempt, cut in the middle when
// they get long.
//
//   <folder>/<execution>/<attempt>.<segment>   bytes segment * 1 MiB ... of the attempt's log
//
// The first segment and the last ones are kept; what lies between is removed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace qb::server {

struct AttemptLogOptions {
  int64_t segment_bytes = int64_t{1} << 20;  // also the head that is always kept
  // Segments kept at the end; the last one may have just begun. Default 5: at least 4 MiB.
  int64_t tail_segments = 5;
};

struct LogPiece {
  int64_t offset = 0;  // of the first byte; beyond what was asked for where bytes were dropped
  std::string data;    // empty: the end
};

// Thread-safe.
class AttemptLogs {
 public:
  AttemptLogs(std::string folder, AttemptLogOptions options)
      : folder_(std::move(folder)), options_(options) {}

  // Appends what of `data`, which begins at `offset`, is not there yet. Returns the size after it.
  // Errors: OutOfRange when bytes are missing before `offset`; InvalidArgument for a negative one.
  absl::StatusOr<int64_t> Append(int64_t execution, int32_t attempt, int64_t offset,
                                 absl::string_view data);
  // Up to `max_bytes` from `offset` on. An attempt without a log has an empty one.
  absl::StatusOr<LogPiece> Read(int64_t execution, int32_t attempt, int64_t offset,
                                int64_t max_bytes);
  // Bytes that were appended, kept or not.
  int64_t SizeBytes(int64_t execution, int32_t attempt);
  // Makes what was appended outlive a power cut. Waits for the disk.
  absl::Status Sync(int64_t execution, int32_t attempt);
  // Removes the logs of an execution that is gone. Idempotent.
  absl::Status Remove(int64_t execution);
  // `listener` hears of each execution with new bytes; it must not wait. Once, before the first
  // Append.
  void SetListener(std::function<void(int64_t execution)> listener) {
    listener_ = std::move(listener);
  }

 private:
  absl::StatusOr<int64_t> AppendLocked(int64_t execution, int32_t attempt, int64_t offset,
                                       absl::string_view data) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AppendToSegment(int64_t execution, int32_t attempt, int64_t offset,
                               absl::string_view data) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string SegmentPath(int64_t execution, int32_t attempt, int64_t segment) const;

  const std::string folder_;
  const AttemptLogOptions options_;
  std::function<void(int64_t)> listener_;
  absl::Mutex mutex_;
};

}  // namespace qb::server
