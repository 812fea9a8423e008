// Events and log bytes of one attempt that the server has not confirmed yet.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "proto/qbc/v1/worker_service.pb.h"

namespace qb::worker {

namespace v1 = ::qbc::v1;

// Bounded however much a compiler writes and however long the server is away: progress that was
// not sent yet is replaced by newer progress, events have budgets, and of a long log its start and
// its end are kept. Thread-safe.
class Outbox {
 public:
  struct Limits {
    int64_t log_head_bytes = int64_t{1} << 20;
    int64_t log_tail_bytes = int64_t{4} << 20;
    int log_events = 500;
    int phase_events = 200;
    int progress_events = 500;  // beyond them only steps of 0.2 % are told
  };

  Outbox();
  explicit Outbox(const Limits& limits) : limits_(limits) {}

  void AddPhase(absl::string_view phase) ABSL_LOCKS_EXCLUDED(mutex_);
  void AddProgress(const v1::JobProgress& progress) ABSL_LOCKS_EXCLUDED(mutex_);
  // `message` is cut at 1 KiB.
  void AddLog(v1::LogSeverity severity, absl::string_view logger, absl::string_view message)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes for the log file, as they are.
  void AddLogBytes(absl::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing comes any more: releases the end of the log. Call once.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_);

  // The oldest unconfirmed events; they change no more from here on.
  std::vector<v1::AttemptEvent> PeekEvents(int most) ABSL_LOCKS_EXCLUDED(mutex_);
  void ConfirmEvents(int64_t seq) ABSL_LOCKS_EXCLUDED(mutex_);

  // The oldest unconfirmed log bytes and their offset.
  std::pair<int64_t, std::string> PeekLog(int64_t most_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  void ConfirmLog(int64_t committed_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The server cannot take this log: forgets what is pending and what follows.
  void DropLog() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until there is something to send or the outbox is closed, at most `timeout`.
  // False on a timeout.
  bool WaitForWork(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until the outbox is closed, at most `timeout`.
  bool WaitUntilClosed(absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_);
  // Closed and everything confirmed.
  bool finished() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  v1::AttemptEvent& AddEvent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWork() const ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return closed_ || !events_.empty() || !log_.empty();
  }

  const Limits limits_;
  mutable absl::Mutex mutex_;
  std::deque<v1::AttemptEvent> events_ ABSL_GUARDED_BY(mutex_);
  int64_t next_seq_ ABSL_GUARDED_BY(mutex_) = 1;
  int64_t peeked_seq_ ABSL_GUARDED_BY(mutex_) = 0;
  int log_events_ ABSL_GUARDED_BY(mutex_) = 0;
  int phase_events_ ABSL_GUARDED_BY(mutex_) = 0;
  int progress_events_ ABSL_GUARDED_BY(mutex_) = 0;
  double last_fraction_ ABSL_GUARDED_BY(mutex_) = 0;

  std::string log_ ABSL_GUARDED_BY(mutex_);         // unconfirmed
  int64_t log_offset_ ABSL_GUARDED_BY(mutex_) = 0;  // of log_[0]
  int64_t log_taken_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string tail_ ABSL_GUARDED_BY(mutex_);  // the latest bytes beyond the head
  int64_t left_out_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool log_dropped_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace qb::worker
