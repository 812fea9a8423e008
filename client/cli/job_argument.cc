#include "client/cli/job_argument.h"

#include "absl/strings/str_cat.h"

#include "client/cli/exit_code.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {

absl::StatusOr<std::string> JobArgument(const ParsedFlags& flags) {
  if (flags.positionals().size() != 1 || flags.positionals().front().empty()) {
    return UsageError(absl::StrCat("one job id is needed, ", flags.positionals().size(),
                                   " are given; `qbc jobs` lists them"));
  }
  return flags.positionals().front();
}

absl::StatusOr<qbc::v1::Job> FetchJob(Connection& connection, const std::string& job_id) {
  qbc::v1::GetJobRequest request;
  request.set_job_id(job_id);
  return connection.GetJob(request);
}

}  // namespace qb::client
