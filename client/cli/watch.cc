// qbc watch and qbc wait: follow a job that is there already.
#include <array>

#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/follow.h"
#include "client/cli/job_argument.h"
#include "client/cli/json_form.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr FlagDef kTimeout = {
    "timeout", 0, FlagKind::kValue, "TIME",
    "Wait no longer than this; the job goes on and the exit code is 5. Default: no limit."};
constexpr auto kWaitFlags = std::to_array<FlagDef>({kTimeout});
constexpr auto kWatchFlags = std::to_array<FlagDef>({
    kTimeout,
    {"after-seq", 0, FlagKind::kValue, "N", "Show only events after this one. Default: 0, all."},
});

absl::StatusOr<int> RunWatch(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::string id, JobArgument(flags));
  QB_ASSIGN_OR_RETURN(const absl::Duration timeout,
                      flags.GetDuration("timeout", absl::InfiniteDuration()));
  QB_ASSIGN_OR_RETURN(const int after_seq, flags.GetInt("after-seq", 0, 0, 2'000'000'000));
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, FollowJob(session, id, after_seq, timeout));
  if (session.json()) {
    session.Answer(Json::Object().Set("type", "job").Set("job", JobToJson(job)));
  } else {
    session.AnswerText(absl::StrCat(StateName(job.state()), "\n"));
  }
  return session.ReportOutcome(job);
}

}  // namespace

const Command& WatchCommand() {
  static const Command command = {
      .name = "watch",
      .usage = "watch JOB [--timeout TIME]",
      .summary = "Follow a job to its end; the exit code is the job's",
      .help =
          R"(Shows what happened so far and then what happens, until the job has ended. Over a lost
connection or a restart of the server it goes on where it was.

Ctrl-C once leaves the job running; twice cancels it.
)",
      .flags = kWatchFlags,
      .run = RunWatch,
  };
  return command;
}

const Command& WaitCommand() {
  static const Command command = {
      .name = "wait",
      .usage = "wait JOB [--timeout TIME]",
      .summary = "Wait for a job's end; the exit code is the job's",
      .help = R"(Like `qbc watch`, for scripts: add --progress none to see nothing but warnings.
)",
      .flags = kWaitFlags,
      .run = RunWatch,
  };
  return command;
}

}  // namespace qb::client
