// How qbcompiler speaks: one JSON object a line for programs, or plain lines for people.
//
// Programs (QBCOMPILER_JSONL set): stdout carries {type, seq, ts, ...} objects and nothing else;
// types are status, progress, log, result, error; exactly one result or error ends a run. People:
// messages and a progress line (on a terminal only) on stderr, the answer on stdout.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/json.h"
#include "core/base/progress.h"

namespace qb::worker {

struct ReporterOptions {
  bool jsonl = false;
  bool progress_bar = false;  // redraw one line on `messages`
  std::FILE* answers = nullptr;
  std::FILE* messages = nullptr;
  // W3C trace context of the run, in every JSONL log line; "": none.
  std::string traceparent;
  std::function<absl::Time()> now = [] { return absl::Now(); };
};

// Thread-safe.
class Reporter final : public ProgressSink {
 public:
  explicit Reporter(ReporterOptions options) : options_(std::move(options)) {}

  // The stages of the coming job with their share of its time. Progress of the whole job is the
  // shares of finished stages plus that of the running one; it never goes back.
  void Plan(std::vector<std::pair<std::string, double>> stages);

  void OnStage(absl::string_view stage) override;
  void OnProgress(int64_t done, int64_t total, absl::string_view unit) override;
  void OnLog(LogLevel level, absl::string_view logger, absl::string_view message) override;

  // From now on debug messages are shown too.
  void ShowDebug();
  // Text for a person on stdout in the middle of a run that Error will end; programs do not get it.
  void Print(absl::string_view text);
  // Ends the run. `fields` are the members of the JSONL result; `text` is what a person reads on
  // stdout.
  void Result(const Json& fields, absl::string_view text);
  // Ends the run with the status' failure code. `details` are further members of the JSONL error's
  // details.
  void Error(const absl::Status& status, const Json& details = Json::Object());

 private:
  void Emit(absl::string_view type, const Json& fields) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ClearLine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double StageShare() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ReporterOptions options_;
  absl::Mutex mutex_;
  std::vector<std::pair<std::string, double>> stages_ ABSL_GUARDED_BY(mutex_);
  std::string stage_ ABSL_GUARDED_BY(mutex_);
  bool debug_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t seq_ ABSL_GUARDED_BY(mutex_) = 0;
  double finished_share_ ABSL_GUARDED_BY(mutex_) = 0;
  double fraction_ ABSL_GUARDED_BY(mutex_) = 0;
  bool line_drawn_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time started_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time last_progress_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace qb::worker
