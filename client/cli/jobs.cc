// qbc jobs: the list, newest first.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_text.h"
#include "client/cli/json_form.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

constexpr int kLargestPage = 500;

constexpr auto kFlags = std::to_array<FlagDef>({
    {"state", 's', FlagKind::kRepeated, "STATE",
     "Only jobs in this state: queued, running, retry_wait, cancelling, succeeded, failed, "
     "cancelled "
     "or expired. May be repeated."},
    {"target-device", 't', FlagKind::kValue, "NAME", "Only jobs for this target."},
    {"limit", 'n', FlagKind::kValue, "N", "At most so many. Default: 50."},
});

absl::Status FillFilter(const ParsedFlags& flags, qbc::v1::JobFilter& filter) {
  for (const std::string& name : flags.GetAll("state")) {
    const qbc::v1::JobState state = StateFromName(name);
    if (state == qbc::v1::JOB_STATE_UNSPECIFIED) {
      return UsageError(absl::StrCat("--state: '", name,
                                     "'; accepted are queued, running, retry_wait, cancelling, "
                                     "succeeded, failed, cancelled and expired"));
    }
    filter.add_states(state);
  }
  filter.set_target_device(flags.Get("target-device"));
  return absl::OkStatus();
}

absl::StatusOr<int> RunJobs(const ParsedFlags& flags, Session& session) {
  if (!flags.positionals().empty()) {
    return UsageError("jobs takes no argument; `qbc get JOB` shows one job");
  }
  QB_ASSIGN_OR_RETURN(const int limit, flags.GetInt("limit", 50, 1, 1'000'000));
  qbc::v1::ListJobsRequest request;
  QB_RETURN_IF_ERROR(FillFilter(flags, *request.mutable_filter()));
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  std::vector<qbc::v1::Job> jobs;
  bool more = true;
  while (more && static_cast<int>(jobs.size()) < limit) {
    request.set_page_size(std::min(limit - static_cast<int>(jobs.size()), kLargestPage));
    QB_ASSIGN_OR_RETURN(const qbc::v1::ListJobsResponse page, connection->ListJobs(request));
    jobs.insert(jobs.end(), page.jobs().begin(), page.jobs().end());
    request.set_page_token(page.next_page_token());
    more = !page.next_page_token().empty() && page.jobs_size() > 0;
  }
  if (!session.json()) {
    session.AnswerText(JobTable(jobs, absl::Now()));
    return kExitOk;
  }
  Json list = Json::Array();
  for (const qbc::v1::Job& job : jobs) {
    list.Append(JobToJson(job));
  }
  session.Answer(Json::Object().Set("type", "jobs").Set("jobs", std::move(list)).Set("more", more));
  return kExitOk;
}

}  // namespace

const Command& JobsCommand() {
  static const Command command = {
      .name = "jobs",
      .usage = "jobs [flags]",
      .summary = "List jobs, newest first",
      .help = R"(Examples:
  qbc jobs --state running --state queued
  qbc jobs -n 1000 --json
)",
      .flags = kFlags,
      .run = RunJobs,
  };
  return command;
}

}  // namespace qb::client
