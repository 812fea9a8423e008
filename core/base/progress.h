// What a long computation tells its caller while it runs.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/base/log.h"

namespace qb {

// Receives stages, progress and log messages. Implementations are thread-safe.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;

  // A named stage begins ("import", "calibrate", "quantize", ...).
  virtual void OnStage(absl::string_view stage) = 0;

  // `done` of `total` units ("sample", "layer") of the current stage are finished.
  virtual void OnProgress(int64_t done, int64_t total, absl::string_view unit) = 0;

  // `logger` names the part that speaks, e.g. "calibration".
  virtual void OnLog(LogLevel level, absl::string_view logger, absl::string_view message) = 0;
};

// Drops everything.
class NullProgressSink final : public ProgressSink {
 public:
  void OnStage(absl::string_view) override {}
  void OnProgress(int64_t, int64_t, absl::string_view) override {}
  void OnLog(LogLevel, absl::string_view, absl::string_view) override {}
};

}  // namespace qb
