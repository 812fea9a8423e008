// qbc cancel: ask for the end of jobs.
#include <array>

#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"reason", 0, FlagKind::kValue, "TEXT", "Why, kept with the job; at most 256 bytes."},
});

absl::StatusOr<int> RunCancel(const ParsedFlags& flags, Session& session) {
  if (flags.positionals().empty()) {
    return UsageError("at least one job id is needed; `qbc jobs` lists them");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  for (const std::string& id : flags.positionals()) {
    qbc::v1::CancelJobRequest request;
    request.set_job_id(id);
    request.set_reason(flags.Has("reason") ? flags.Get("reason") : "cancelled with qbc cancel");
    QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, connection->CancelJob(request));
    if (session.json()) {
      session.Answer(Json::Object().Set("type", "job").Set("job", JobToJson(job)));
    } else {
      session.AnswerText(absl::StrCat(PrintableLine(id), " ", StateName(job.state()), "\n"));
    }
  }
  return kExitOk;
}

}  // namespace

const Command& CancelCommand() {
  static const Command command = {
      .name = "cancel",
      .usage = "cancel JOB... [--reason TEXT]",
      .summary = "Cancel jobs",
      .help =
          R"(A job that has ended stays as it is. Prints the state after the request: a running job is
"cancelling" until its worker has answered; `qbc wait` waits for that.
)",
      .flags = kFlags,
      .run = RunCancel,
  };
  return command;
}

}  // namespace qb::client
