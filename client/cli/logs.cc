// qbc logs: what the compiler printed.
#include <array>

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_argument.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"attempt", 0, FlagKind::kValue, "N", "The log of this attempt. Default: the last one."},
});

absl::StatusOr<int> RunLogs(const ParsedFlags& flags, Session& session) {
  qbc::v1::ReadLogRequest request;
  QB_ASSIGN_OR_RETURN(*request.mutable_job_id(), JobArgument(flags));
  QB_ASSIGN_OR_RETURN(const int attempt, flags.GetInt("attempt", 0, 1, 1'000'000));
  request.set_attempt(attempt);
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  Backoff backoff = connection->NewBackoff();
  int64_t next = 0;
  while (true) {
    request.set_offset(next);
    const absl::Status status = connection->stub().ReadLog(
        request, connection->StreamOptions(), [&](const qbc::v1::ReadLogResponse& response) {
          session.AnswerText(Printable(response.data()));
          next = response.offset() + static_cast<int64_t>(response.data().size());
          return absl::OkStatus();
        });
    if (status.ok()) {
      return kExitOk;
    }
    QB_RETURN_IF_ERROR(backoff.WaitAfter(status));
  }
}

}  // namespace

const Command& LogsCommand() {
  static const Command command = {
      .name = "logs",
      .usage = "logs JOB [--attempt N]",
      .summary = "Print what the compiler logged for a job, so far",
      .help = R"(Control characters are printed as escapes (\x1b).
)",
      .flags = kFlags,
      .run = RunLogs,
  };
  return command;
}

}  // namespace qb::client
