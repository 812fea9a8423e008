// What the compile process of one attempt said: turns its output into events and log bytes, and
// remembers what decides the outcome.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

#include "worker/agent/child_runner.h"
#include "worker/agent/jsonl.h"
#include "worker/agent/outbox.h"

namespace qb::worker {

// One thread; the outbox may be read by others.
class Transcript final : public ChildOutput {
 public:
  // `hidden_prefix` (the attempt's folder) is taken out of every text for users.
  Transcript(Outbox& outbox, std::string hidden_prefix)
      : outbox_(outbox), hidden_prefix_(std::move(hidden_prefix)) {}

  void OnStdout(absl::string_view bytes) override;
  void OnStderr(absl::string_view bytes) override;
  // The process has ended: takes the unfinished last line.
  void Finish();

  int results() const { return results_; }
  int errors() const { return errors_; }
  // The first of its kind, when there was one.
  const std::optional<ResultMessage>& result() const { return result_; }
  const std::optional<ErrorMessage>& error() const { return error_; }
  const std::string& stage() const { return stage_; }
  // The last line that the process wrote on its standard error, at most 500 bytes.
  const std::string& last_stderr_line() const { return last_stderr_line_; }

  // `text` without the hidden prefix.
  std::string Visible(absl::string_view text) const;

 private:
  void OnLine(absl::string_view line, bool cut);
  void CheckSequence(int64_t seq);
  void EnterStage(const std::string& stage);
  void Handle(const StatusMessage& status);
  void Handle(const ProgressMessage& progress);
  void Handle(const LogMessage& log);
  void Handle(const ResultMessage& result);
  void Handle(const ErrorMessage& error);
  void Handle(const GarbageMessage& garbage);
  void Complain(absl::string_view message);

  Outbox& outbox_;
  const std::string hidden_prefix_;
  LineSplitter stdout_lines_{kMaxLineBytes};
  LineSplitter stderr_lines_{500};
  int64_t last_seq_ = 0;
  int complaints_ = 0;
  int results_ = 0;
  int errors_ = 0;
  std::optional<ResultMessage> result_;
  std::optional<ErrorMessage> error_;
  std::string stage_;
  std::string last_stderr_line_;
};

}  // namespace qb::worker
