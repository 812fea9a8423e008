// qbc retry: the same work once more, as a new job.
#include <vector>

#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_argument.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "client/cli/work_flags.h"
#include "client/cpp/random_id.h"
#include "client/cpp/watch.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

absl::StatusOr<int> RunRetry(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::string id, JobArgument(flags));
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job old, FetchJob(*connection, id));
  if (!IsTerminalState(old.state())) {
    return WithExitCode(absl::FailedPreconditionError(
                            absl::StrCat("job ", id, " has not ended (", StateName(old.state()),
                                         "): follow it with: qbc watch ", id)),
                        kExitUsage);
  }
  qbc::v1::SubmitJobRequest request;
  request.set_request_id(RandomUuid());
  *request.mutable_spec() = old.spec();
  QB_RETURN_IF_ERROR(ApplyWorkFlags(flags, *request.mutable_spec()));
  QB_ASSIGN_OR_RETURN(const qbc::v1::SubmitJobResponse response, connection->SubmitJob(request));
  if (session.json()) {
    session.Answer(Json::Object().Set("type", "job").Set("job", JobToJson(response.job())));
  } else {
    session.AnswerText(absl::StrCat(PrintableLine(response.job().id()), "\n"));
  }
  return kExitOk;
}

}  // namespace

const Command& RetryCommand() {
  static const Command command = {
      .name = "retry",
      .usage = "retry JOB [flags]",
      .summary = "Run a job that has ended again, as a new job",
      .help =
          R"(Submits the files and settings of JOB once more and prints the new job's id. Nothing is uploaded:
the files must still be stored. Flags change what they name; the rest stays as it was. After a success add
--cache refresh, or the stored result answers.

Examples:
  qbc retry JOB --memory 16G
  qbc watch $(qbc retry JOB)
)",
      .flags = WorkFlags(),
      .run = RunRetry,
  };
  return command;
}

}  // namespace qb::client
