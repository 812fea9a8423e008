// qbc download: fetch a result.
#include <array>

#include "absl/strings/str_cat.h"

#include "client/cli/artifact.h"
#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_argument.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"output", 'o', FlagKind::kValue, "FILE",
     "Where it goes. Required: no name that the server says is ever used as a path."},
    {"artifact", 0, FlagKind::kValue, "NAME",
     "Which result, as `qbc get` names it. Default: the .mxq."},
});

absl::StatusOr<int> RunDownload(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const std::string id, JobArgument(flags));
  const std::string output = flags.Get("output");
  if (output.empty()) {
    return UsageError("--output is missing");
  }
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, FetchJob(*connection, id));
  QB_ASSIGN_OR_RETURN(const qbc::v1::Artifact artifact, ChooseArtifact(job, flags.Get("artifact")));
  QB_RETURN_IF_ERROR(FetchArtifact(session, artifact, output));
  session.view().Say(absl::StrCat(output, ": ", FormatBytes(artifact.size_bytes()), ", sha256 ",
                                  artifact.sha256()));
  if (session.json()) {
    session.Answer(Json::Object()
                       .Set("type", "download")
                       .Set("job_id", id)
                       .Set("path", output)
                       .Set("sha256", artifact.sha256())
                       .Set("bytes", artifact.size_bytes()));
  } else {
    session.AnswerText(absl::StrCat(output, "\n"));
  }
  return kExitOk;
}

}  // namespace

const Command& DownloadCommand() {
  static const Command command = {
      .name = "download",
      .usage = "download JOB -o FILE [--artifact NAME]",
      .summary = "Fetch a result of a job and check its digest",
      .help =
          R"(Writes to a temporary file beside FILE, checks size and SHA-256 against the job's result,
then renames. FILE is untouched when anything goes wrong.
)",
      .flags = kFlags,
      .run = RunDownload,
  };
  return command;
}

}  // namespace qb::client
