#include "worker/agent/verdict.h"

#include <signal.h>

#include "absl/strings/str_cat.h"

#include "worker/agent/jsonl.h"

namespace qb::worker {
namespace {

constexpr size_t kMaxMessageBytes = 4000;

Verdict FailureVerdict(v1::AttemptOutcome outcome, FailureCode code, absl::string_view message) {
  Verdict verdict;
  verdict.outcome = outcome;
  const absl::string_view name = FailureRowOf(code).name;
  verdict.failure.set_reason(static_cast<v1::FailureReason>(code));
  verdict.failure.set_reason_name(std::string(name));
  verdict.failure.set_message(CleanText(message, kMaxMessageBytes));
  return verdict;
}

// Signals that a person, an init system or the kernel's memory killer sends: not the input's doing.
bool ComesFromOutside(int signal) {
  return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
         signal == SIGQUIT;
}

std::string Where(const Transcript& transcript) {
  std::string text;
  if (!transcript.stage().empty()) {
    absl::StrAppend(&text, " in stage '", transcript.stage(), "'");
  }
  if (transcript.error().has_value()) {
    absl::StrAppend(&text, "; it reported ", transcript.error()->code, ": ",
                    transcript.error()->message);
  }
  if (!transcript.last_stderr_line().empty()) {
    absl::StrAppend(&text, "; its last line on stderr: ", transcript.last_stderr_line());
  }
  return text;
}

Verdict CrashVerdict(absl::string_view what, const ExitReport& exit, const Transcript& transcript) {
  Verdict verdict =
      FailedVerdict(FailureCode::kCompilerCrash,
                    absl::StrCat("the compile process ", exit.ToString(), what, Where(transcript)));
  auto& details = *verdict.failure.mutable_details();
  if (exit.signal != 0) {
    details["signal"] = absl::StrCat(exit.signal);
  } else {
    details["exit_code"] = absl::StrCat(exit.exit_code);
  }
  return verdict;
}

Verdict ErrorVerdict(const ErrorMessage& error) {
  const FailureCode code = FailureCodeFromName(error.code);
  if (code == FailureCode::kCancelled) {
    // Nobody of ours asked for it (see DecideVerdict): somebody interrupted the process.
    return LostVerdict(FailureCode::kWorkerLost,
                       absl::StrCat("the compile process was interrupted: ", error.message));
  }
  if (code == FailureCode::kNone) {
    return FailedVerdict(
        FailureCode::kInternalError,
        absl::StrCat("the compiler reported the unknown code '", error.code, "': ", error.message));
  }
  Verdict verdict = FailedVerdict(code, error.message);
  for (const auto& [name, value] : error.details) {
    (*verdict.failure.mutable_details())[name] = value;
  }
  return verdict;
}

// kNone: it went over no limit.
FailureCode LimitCode(const ExitReport& exit) {
  switch (exit.kind) {
    case ExitReport::Kind::kMemoryLimit:
      return FailureCode::kMemoryLimit;
    case ExitReport::Kind::kCpuLimit:
      return FailureCode::kCpuLimit;
    case ExitReport::Kind::kDiskLimit:
      return FailureCode::kDiskLimit;
    case ExitReport::Kind::kOutputLimit:
      return FailureCode::kOutputLimit;
    default:
      return FailureCode::kNone;
  }
}

Verdict LimitVerdict(FailureCode code, const ExitReport& exit, const Transcript& transcript) {
  Verdict verdict = FailedVerdict(
      code, absl::StrCat("the compile process was ", exit.ToString(), Where(transcript)));
  auto& details = *verdict.failure.mutable_details();
  details["limit"] = exit.limit;
  details["peak_rss_bytes"] = absl::StrCat(exit.peak_rss_bytes);
  return verdict;
}

bool IsCleanResult(const ExitReport& exit, const Transcript& transcript) {
  return exit.signal == 0 && exit.exit_code == 0 && transcript.results() == 1 &&
         transcript.errors() == 0;
}

}  // namespace

Verdict FailedVerdict(FailureCode code, absl::string_view message) {
  return FailureVerdict(v1::ATTEMPT_OUTCOME_FAILED, code, message);
}

Verdict LostVerdict(FailureCode code, absl::string_view message) {
  return FailureVerdict(v1::ATTEMPT_OUTCOME_LOST, code, message);
}

Verdict StoppedVerdict(const StopSignal& stop) {
  Verdict verdict;
  if (stop.abandoned()) {
    return verdict;
  }
  verdict.outcome = stop.cancelled() ? v1::ATTEMPT_OUTCOME_CANCELLED : v1::ATTEMPT_OUTCOME_RELEASED;
  return verdict;
}

Verdict DecideVerdict(const ExitReport& exit, const Transcript& transcript,
                      const StopSignal& stop) {
  if (stop.abandoned()) {
    return {};
  }
  if (exit.signal == SIGSYS) {
    return FailedVerdict(FailureCode::kSandboxViolation,
                         absl::StrCat("the compile process made a system call that the sandbox "
                                      "forbids, and was ended",
                                      Where(transcript)));
  }
  if (const FailureCode code = LimitCode(exit); code != FailureCode::kNone) {
    return LimitVerdict(code, exit, transcript);
  }
  if (exit.kind == ExitReport::Kind::kTimedOut) {
    return FailedVerdict(FailureCode::kTimeout, absl::StrCat("the compile process was ",
                                                             exit.ToString(), Where(transcript)));
  }
  if (IsCleanResult(exit, transcript)) {
    Verdict verdict;
    verdict.outcome = v1::ATTEMPT_OUTCOME_SUCCEEDED;
    return verdict;
  }
  if (exit.kind == ExitReport::Kind::kKilledByUs) {
    return StoppedVerdict(stop);
  }
  if (exit.signal != 0 && ComesFromOutside(exit.signal)) {
    return LostVerdict(FailureCode::kWorkerLost,
                       absl::StrCat("the compile process was ", exit.ToString(),
                                    ", which the agent did not send", Where(transcript)));
  }
  if (exit.signal != 0) {
    return CrashVerdict("", exit, transcript);
  }
  if (transcript.errors() == 1 && transcript.results() == 0) {
    return ErrorVerdict(*transcript.error());
  }
  return CrashVerdict(absl::StrCat(" after ", transcript.results(), " results and ",
                                   transcript.errors(), " errors"),
                      exit, transcript);
}

Verdict AgentFailureVerdict(const absl::Status& status, absl::string_view what) {
  const std::string message = absl::StrCat(what, ": ", status.message());
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return FailedVerdict(FailureCode::kInputLost, message);
    case absl::StatusCode::kInvalidArgument:
      return FailedVerdict(FailureCode::kArgumentError, message);
    case absl::StatusCode::kResourceExhausted:
      return LostVerdict(FailureCode::kDiskLimit, message);
    default:
      return LostVerdict(FailureCode::kWorkerLost, message);
  }
}

}  // namespace qb::worker
