// What the commands share: the answer streams, the view, the connection, and how errors are told.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "client/cli/environment.h"
#include "client/cli/progress_view.h"
#include "client/cli/server_access.h"
#include "client/cpp/connection.h"
#include "core/base/flags.h"
#include "core/base/json.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {

// --server and what goes with it, --json, --progress and --help: every command has them.
std::vector<FlagDef> SharedFlags();

// One run of one command. One thread, but for the callbacks of uploads, which are serialized here.
class Session {
 public:
  // Without `asks_server` access() is empty. Errors: usage.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const CliEnvironment& environment,
                                                         const ParsedFlags& flags,
                                                         bool asks_server = true);

  const CliEnvironment& environment() const { return environment_; }
  bool json() const { return json_; }
  const ServerAccess& access() const { return access_; }
  ProgressView& view() { return *view_; }

  // The connection of the command, made at the first use. Errors: usage, for a malformed address.
  absl::StatusOr<Connection*> connection();
  // Another one that Ctrl-C does not end: for what has to be done after it.
  absl::StatusOr<std::unique_ptr<Connection>> NewPatientConnection();

  UploadListener upload_listener();

  // Writes an answer: one line of JSON, or text as it is.
  void Answer(const Json& json) { *environment_.out << json.Dump() << "\n" << std::flush; }
  void AnswerText(absl::string_view text) { *environment_.out << text << std::flush; }

  // Tells what went wrong with a job (nothing when it succeeded). Returns the exit code.
  int ReportOutcome(const qbc::v1::Job& job);
  // Tells an error. Returns its exit code.
  int ReportError(const absl::Status& status);

 private:
  Session(const CliEnvironment& environment, bool json, ServerAccess access,
          const RetryPolicy& retry, std::unique_ptr<ProgressView> view);

  absl::StatusOr<std::unique_ptr<Connection>> NewConnection(Interruption* interruption);

  const CliEnvironment& environment_;
  const bool json_;
  const ServerAccess access_;
  const RetryPolicy retry_;
  std::unique_ptr<ProgressView> view_;
  absl::Mutex view_mutex_;  // uploads report from several threads
  std::unique_ptr<Connection> connection_;
};

// "ERROR [CODE]: message" and a hint, for a person; text of the server is made printable.
void PrintError(const CliEnvironment& environment, absl::string_view code,
                absl::string_view message, absl::string_view hint);

}  // namespace qb::client
