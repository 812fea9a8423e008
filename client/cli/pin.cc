// qbc pin and qbc unpin: keep ended jobs beyond their time, or no longer.
#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_text.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job.pb.h"

namespace qb::client {
namespace {

absl::StatusOr<int> SetPinned(const ParsedFlags& flags, Session& session, bool pinned) {
  if (flags.positionals().empty()) {
    return UsageError("at least one job id is needed; `qbc jobs` lists them");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  for (const std::string& id : flags.positionals()) {
    QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, connection->SetPin(id, pinned));
    if (session.json()) {
      session.Answer(Json::Object().Set("type", "job").Set("job", JobToJson(job)));
    } else {
      const std::string until = KeptUntil(job);
      session.AnswerText(absl::StrCat(PrintableLine(id), " kept ",
                                      until.empty() ? "while it has not ended" : until, "\n"));
    }
  }
  return kExitOk;
}

absl::StatusOr<int> RunPin(const ParsedFlags& flags, Session& session) {
  return SetPinned(flags, session, true);
}

absl::StatusOr<int> RunUnpin(const ParsedFlags& flags, Session& session) {
  return SetPinned(flags, session, false);
}

}  // namespace

const Command& PinCommand() {
  static const Command command = {
      .name = "pin",
      .usage = "pin JOB...",
      .summary = "Keep jobs and their results until they are unpinned",
      .help =
          R"(The server removes ended jobs, their events and results after a time, which `qbc get` shows;
a pinned job stays. Prints how long each job is kept now. `qbc download` fetches a result for good.
)",
      .flags = {},
      .run = RunPin,
  };
  return command;
}

const Command& UnpinCommand() {
  static const Command command = {
      .name = "unpin",
      .usage = "unpin JOB...",
      .summary = "Let the server remove jobs in its time again",
      .help = R"(Takes `qbc pin` back. Prints how long each job is kept now.
)",
      .flags = {},
      .run = RunUnpin,
  };
  return command;
}

}  // namespace qb::client
