// The named phases of a compile: announced, timed, and stopped when the caller cancels.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/cancel_token.h"
#include "core/base/json.h"
#include "core/base/progress.h"

namespace qb {

// Passes everything on to the caller's sink and keeps the time of each stage. Thread-safe.
class Phases final : public ProgressSink {
 public:
  Phases(ProgressSink& sink, const CancelToken& cancel) : sink_(sink), cancel_(cancel) {}

  // OnStage, unless the caller cancelled. Errors: CANCELLED.
  absl::Status Begin(absl::string_view stage);

  void OnStage(absl::string_view stage) override;
  void OnProgress(int64_t done, int64_t total, absl::string_view unit) override {
    sink_.OnProgress(done, total, unit);
  }
  void OnLog(LogLevel level, absl::string_view logger, absl::string_view message) override {
    sink_.OnLog(level, logger, message);
  }

  const CancelToken& cancel() const { return cancel_; }
  // {stage: seconds} in order, the running one up to now.
  Json Seconds();

 private:
  void EndStage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ProgressSink& sink_;
  const CancelToken& cancel_;
  absl::Mutex mutex_;
  std::vector<std::pair<std::string, double>> seconds_ ABSL_GUARDED_BY(mutex_);
  absl::Time begun_ ABSL_GUARDED_BY(mutex_);
};

// The largest resident set of this process so far, in bytes.
int64_t PeakMemoryBytes();

}  // namespace qb
