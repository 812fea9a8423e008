#include "worker/agent/transcript.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace qb::worker {
namespace {

// A compiler that writes nonsense fills the log, not the event history.
constexpr int kMaxComplaints = 20;

v1::LogSeverity SeverityOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return v1::LOG_SEVERITY_DEBUG;
    case LogLevel::kInfo:
      return v1::LOG_SEVERITY_INFO;
    case LogLevel::kWarning:
      return v1::LOG_SEVERITY_WARNING;
    case LogLevel::kError:
      return v1::LOG_SEVERITY_ERROR;
  }
  return v1::LOG_SEVERITY_INFO;
}

}  // namespace

std::string Transcript::Visible(absl::string_view text) const {
  if (hidden_prefix_.empty()) {
    return std::string(text);
  }
  return absl::StrReplaceAll(text,
                             {{absl::StrCat(hidden_prefix_, "/"), ""}, {hidden_prefix_, "."}});
}

void Transcript::OnStdout(absl::string_view bytes) {
  stdout_lines_.Feed(bytes, [this](absl::string_view line, bool cut) { OnLine(line, cut); });
}

void Transcript::OnStderr(absl::string_view bytes) {
  outbox_.AddLogBytes(bytes);
  stderr_lines_.Feed(bytes, [this](absl::string_view line, bool) {
    if (!line.empty()) {
      last_stderr_line_ = Visible(CleanText(line, 500));
    }
  });
}

void Transcript::Finish() {
  stdout_lines_.Finish([this](absl::string_view line, bool cut) { OnLine(line, cut); });
  stderr_lines_.Finish(
      [this](absl::string_view line, bool) { last_stderr_line_ = Visible(CleanText(line, 500)); });
}

void Transcript::OnLine(absl::string_view line, bool cut) {
  if (cut) {
    Handle(GarbageMessage{.text = CleanText(line, 200), .reason = "the line is too long"});
    return;
  }
  if (line.empty()) {
    return;
  }
  const CompilerMessage message = ParseCompilerLine(line);
  if (!std::holds_alternative<GarbageMessage>(message.body)) {
    CheckSequence(message.seq);
  }
  std::visit([this](const auto& body) { Handle(body); }, message.body);
}

void Transcript::CheckSequence(int64_t seq) {
  if (seq != last_seq_ + 1) {
    Complain(absl::StrCat("the compiler's message ", seq, " followed message ", last_seq_));
  }
  last_seq_ = seq;
}

void Transcript::EnterStage(const std::string& stage) {
  if (!stage.empty() && stage != stage_) {
    stage_ = stage;
    outbox_.AddPhase(stage);
  }
}

void Transcript::Handle(const StatusMessage& status) { EnterStage(status.stage); }

void Transcript::Handle(const ProgressMessage& progress) {
  EnterStage(progress.stage);
  v1::JobProgress event;
  event.set_phase(stage_);
  event.set_fraction(progress.fraction);
  event.set_done(progress.done);
  event.set_total(progress.total);
  event.set_unit(progress.unit);
  outbox_.AddProgress(event);
}

void Transcript::Handle(const LogMessage& log) {
  const std::string message = Visible(log.message);
  outbox_.AddLogBytes(absl::StrCat(LogLevelName(log.level), " ", log.logger, ": ", message, "\n"));
  // Debug messages are many and for the log only.
  if (log.level != LogLevel::kDebug) {
    outbox_.AddLog(SeverityOf(log.level), log.logger, message);
  }
}

void Transcript::Handle(const ResultMessage& result) {
  ++results_;
  if (!result_.has_value()) {
    result_ = result;
  }
}

void Transcript::Handle(const ErrorMessage& error) {
  ++errors_;
  if (!error_.has_value()) {
    error_ = error;
    error_->message = Visible(error.message);
    for (auto& [name, value] : error_->details) {
      value = Visible(value);
    }
  }
}

void Transcript::Handle(const GarbageMessage& garbage) {
  outbox_.AddLogBytes(absl::StrCat(garbage.text, "\n"));
  Complain(absl::StrCat("the compiler wrote a line outside its protocol (", garbage.reason,
                        "): ", garbage.text));
}

void Transcript::Complain(absl::string_view message) {
  if (complaints_ < kMaxComplaints) {
    ++complaints_;
    outbox_.AddLog(v1::LOG_SEVERITY_WARNING, "worker", Visible(message));
  }
}

}  // namespace qb::worker
