// qbc share: let another tenant read a job, or no longer.
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_argument.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"with", 0, FlagKind::kValue, "TENANT", "Who may read the job. Needed."},
    {"stop", 0, FlagKind::kSwitch, "", "Take that back."},
});

absl::StatusOr<int> RunShare(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::string id, JobArgument(flags));
  if (flags.Get("with").empty()) {
    return UsageError("--with: expected the tenant that may read the job");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::JobShares shares,
                      connection->SetShare(id, flags.Get("with"), !flags.Has("stop")));
  if (session.json()) {
    Json tenants = Json::Array();
    for (const std::string& tenant : shares.tenants()) {
      tenants.Append(tenant);
    }
    session.Answer(
        Json::Object().Set("type", "shares").Set("job_id", id).Set("tenants", std::move(tenants)));
  } else {
    session.AnswerText(absl::StrCat(PrintableLine(id), ": ",
                                    shares.tenants().empty()
                                        ? "read by its owner alone"
                                        : PrintableLine(absl::StrJoin(shares.tenants(), ", ")),
                                    "\n"));
  }
  return kExitOk;
}

}  // namespace

const Command& ShareCommand() {
  static const Command command = {
      .name = "share",
      .usage = "share JOB --with TENANT [--stop]",
      .summary = "Let another tenant read a job",
      .help =
          R"(Others can then get, watch and download the job by its id: its settings, events, log and results,
not its input files. It does not appear in their lists. Prints who may read the job now.
)",
      .flags = kFlags,
      .run = RunShare,
  };
  return command;
}

}  // namespace qb::client
