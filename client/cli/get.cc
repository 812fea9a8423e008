// qbc get: one job in full.
#include <array>

#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_argument.h"
#include "client/cli/job_text.h"
#include "client/cli/json_form.h"
#include "client/cli/settings_text.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"settings", 0, FlagKind::kSwitch, "",
     "Also show every compile setting, with where its value came from."},
});

absl::StatusOr<int> RunGet(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::string id, JobArgument(flags));
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, FetchJob(*connection, id));
  if (session.json()) {
    session.Answer(Json::Object().Set("type", "job").Set("job", JobToJson(job)));
  } else {
    session.AnswerText(JobBlock(job));
    if (flags.Has("settings")) {
      session.AnswerText(absl::StrCat("\n", SettingsTable(job.resolved_config_json())));
    }
  }
  return kExitOk;
}

}  // namespace

const Command& GetCommand() {
  static const Command command = {
      .name = "get",
      .usage = "get JOB [--settings]",
      .summary = "Show one job: state, times, failure, results",
      .help = R"(The exit code tells only whether the job could be read; `qbc wait` ends with the
job's own. --settings adds every compile setting with where its value came from: the
default, a preset, the file or a flag. With --json these settings and the compiler's report are included.
)",
      .flags = kFlags,
      .run = RunGet,
  };
  return command;
}

}  // namespace qb::client
