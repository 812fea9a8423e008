// qbc version: of the client; the server's is in `qbc status`.
#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"

namespace qb::client {
namespace {

absl::StatusOr<int> RunVersion(const ParsedFlags& flags, Session& session) {
  if (!flags.positionals().empty()) {
    return UsageError("version takes no argument");
  }
  if (session.json()) {
    session.Answer(
        Json::Object().Set("type", "version").Set("version", QB_VERSION).Set("api", "qbc.v1"));
  } else {
    session.AnswerText(absl::StrCat("qbc ", QB_VERSION, "\n"));
  }
  return kExitOk;
}

}  // namespace

const Command& VersionCommand() {
  static const Command command = {
      .name = "version",
      .usage = "version",
      .summary = "Print the version of qbc",
      .help = "",
      .flags = {},
      .run = RunVersion,
      .asks_server = false,
  };
  return command;
}

}  // namespace qb::client
