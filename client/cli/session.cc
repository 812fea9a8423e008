#include "client/cli/session.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cli/exit_code.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "client/cpp/violations.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr auto kSharedFlags = std::to_array<FlagDef>({
    {"connect-timeout", 0, FlagKind::kValue, "TIME",
     "How long a server that cannot be reached is tried before giving up. Default: 10s."},
    {"json", 0, FlagKind::kSwitch, "",
     "Answers as JSON, one object a line on standard output; a command that follows a job prints "
     "its "
     "events too, the answer last."},
    {"progress", 0, FlagKind::kValue, "HOW",
     "auto (default: a bar on a terminal, else plain lines), plain, or none."},
    {"help", 'h', FlagKind::kSwitch, "", "This text."},
});

// The failure of a job; its code is the table's, also when a newer server's number is not in it.
const FailureRow* RowOf(const qbc::v1::JobFailure& failure) {
  for (const FailureRow& row : AllFailures()) {
    if (static_cast<int>(row.code) == static_cast<int>(failure.reason())) {
      return &row;
    }
  }
  return nullptr;
}

absl::string_view HintOf(const absl::Status& status, const std::string& address,
                         std::string& storage) {
  if (ExitCodeOf(status) == kExitUnavailable) {
    storage = absl::StrCat("is a server running at ", address,
                           "? Start one with qbc-server, or name another with --server");
  } else if (status.code() == absl::StatusCode::kUnauthenticated) {
    storage = "the server wants a token: qbc login, --token-file or QBC_TOKEN_FILE";
  } else if (ExitCodeOf(status) == kExitUsage) {
    storage = "see --help";
  }
  return storage;
}

}  // namespace

std::vector<FlagDef> SharedFlags() {
  std::vector<FlagDef> flags(AccessFlags().begin(), AccessFlags().end());
  flags.insert(flags.end(), kSharedFlags.begin(), kSharedFlags.end());
  return flags;
}

void PrintError(const CliEnvironment& environment, absl::string_view code,
                absl::string_view message, absl::string_view hint) {
  const bool color = UseColor(environment);
  std::ostream& err = *environment.err;
  err << (color ? "\x1b[31m" : "") << "ERROR [" << PrintableLine(code) << "]"
      << (color ? "\x1b[0m" : "") << ": " << Printable(message) << "\n";
  if (!hint.empty()) {
    err << "hint: " << PrintableLine(hint) << "\n";
  }
  err << std::flush;
}

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const CliEnvironment& environment,
                                                         const ParsedFlags& flags,
                                                         bool asks_server) {
  const bool json = flags.Has("json");
  QB_ASSIGN_OR_RETURN(const ViewKind kind, ChooseView(environment, flags.Get("progress"), json));
  RetryPolicy retry = environment.retry;
  QB_ASSIGN_OR_RETURN(retry.budget, flags.GetDuration("connect-timeout", retry.budget));
  ServerAccess access;
  if (asks_server) {
    QB_ASSIGN_OR_RETURN(access, ChooseAccess(environment, flags));
  }
  return std::unique_ptr<Session>(new Session(environment, json, std::move(access), retry,
                                              CreateProgressView(kind, environment)));
}

Session::Session(const CliEnvironment& environment, bool json, ServerAccess access,
                 const RetryPolicy& retry, std::unique_ptr<ProgressView> view)
    : environment_(environment),
      json_(json),
      access_(std::move(access)),
      retry_(retry),
      view_(std::move(view)) {}

absl::StatusOr<std::unique_ptr<Connection>> Session::NewConnection(Interruption* interruption) {
  absl::StatusOr<std::unique_ptr<Stub>> stub = environment_.create_stub(access_);
  if (!stub.ok()) {
    return WithExitCode(stub.status(), kExitUsage);
  }
  ConnectionOptions options;
  options.retry = retry_;
  options.interruption = interruption;
  options.on_retry = [this](const absl::Status& why, absl::Duration delay) {
    absl::MutexLock lock(&view_mutex_);
    view_->OnRetry(why, delay);
  };
  return std::make_unique<Connection>(*std::move(stub), std::move(options));
}

absl::StatusOr<Connection*> Session::connection() {
  if (connection_ == nullptr) {
    QB_ASSIGN_OR_RETURN(connection_, NewConnection(environment_.interruption));
  }
  return connection_.get();
}

absl::StatusOr<std::unique_ptr<Connection>> Session::NewPatientConnection() {
  return NewConnection(nullptr);
}

UploadListener Session::upload_listener() {
  return [this](const UploadProgress& progress) {
    absl::MutexLock lock(&view_mutex_);
    view_->OnUpload(progress);
  };
}

int Session::ReportOutcome(const qbc::v1::Job& job) {
  if (job.state() == qbc::v1::JOB_STATE_SUCCEEDED) {
    return kExitOk;
  }
  const qbc::v1::JobFailure& failure = job.failure();
  const FailureRow* row = RowOf(failure);
  view_->Clear();
  if (!json_) {  // the JSON answer has the failure in it
    PrintError(environment_, failure.reason_name(), failure.message(),
               failure.hint().empty() && row != nullptr ? row->hint : failure.hint());
  }
  if (job.state() == qbc::v1::JOB_STATE_CANCELLED) {
    return kExitCancelled;
  }
  return row != nullptr && row->qbc_exit != kExitOk ? row->qbc_exit : kExitInfrastructure;
}

int Session::ReportError(const absl::Status& status) {
  view_->Clear();
  std::string message;
  const std::string name = ErrorName(status, &message);
  std::string hint;
  HintOf(status, access_.address, hint);
  if (json_) {
    Json violations = Json::Array();
    Json answer = Json::Object();
    answer.Set("type", "error").Set("code", name).Set("message", message).Set("hint", hint);
    answer.Set("exit_code", ExitCodeOf(status));
    for (const qbc::v1::FieldViolation& violation : ViolationsOf(status)) {
      violations.Append(ViolationToJson(violation));
    }
    if (!violations.items().empty()) {
      answer.Set("violations", std::move(violations));
    }
    Answer(answer);
  } else {
    PrintError(environment_, name, message, hint);
  }
  return ExitCodeOf(status);
}

}  // namespace qb::client
