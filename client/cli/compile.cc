// qbc compile: upload, submit, follow, download, verify.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "client/cli/artifact.h"
#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/follow.h"
#include "client/cli/job_flags.h"
#include "client/cli/job_text.h"
#include "client/cli/json_form.h"
#include "client/cli/local_compiler.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

namespace fs = std::filesystem;

constexpr auto kOwnFlags = std::to_array<FlagDef>({
    {"output", 'o', FlagKind::kValue, "FILE",
     "Where the result goes. Default: the model's name with .mxq, in the working directory."},
    {"timeout", 0, FlagKind::kValue, "TIME",
     "Wait no longer than this; the job goes on and the exit code is 5. Default: no limit."},
    {"local", 0, FlagKind::kSwitch, "",
     "Run qbcompiler on this machine instead of asking a server. All other flags are handed to "
     "it."},
});

absl::Span<const FlagDef> CompileFlags() {
  static const std::vector<FlagDef> flags = [] {
    std::vector<FlagDef> all(kOwnFlags.begin(), kOwnFlags.end());
    all.insert(all.end(), JobFlags().begin(), JobFlags().end());
    return all;
  }();
  return flags;
}

std::string DefaultOutput(const std::string& model) {
  fs::path name = fs::path(model).lexically_normal();
  if (!name.has_filename()) {
    name = name.parent_path();
  }
  return name.filename().replace_extension(".mxq").string();
}

// Minutes of compiling must not end at a folder that is not there.
absl::Status CheckOutput(const std::string& output) {
  std::error_code error;
  if (fs::is_directory(output, error)) {
    return UsageError(absl::StrCat("--output: '", output, "' is a folder"));
  }
  fs::path parent = fs::path(output).parent_path();
  if (parent.empty()) {
    parent = ".";
  }
  if (!fs::is_directory(parent, error)) {
    return UsageError(absl::StrCat("--output: there is no folder '", parent.string(), "'"));
  }
  if (::access(parent.c_str(), W_OK) != 0) {
    return UsageError(
        absl::StrCat("--output: the folder '", parent.string(), "' cannot be written"));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Conclude(Session& session, const qbc::v1::Job& job, const std::string& output,
                             absl::Time begin) {
  Json answer = Json::Object();
  answer.Set("type", "job").Set("job", JobToJson(job));
  if (job.state() == qbc::v1::JOB_STATE_SUCCEEDED) {
    QB_ASSIGN_OR_RETURN(const qbc::v1::Artifact artifact, ChooseArtifact(job, ""));
    QB_RETURN_IF_ERROR(FetchArtifact(session, artifact, output));
    session.view().Say(absl::StrCat("succeeded in ", FormatElapsed(absl::Now() - begin), ": ",
                                    output, ", ", FormatBytes(artifact.size_bytes()), ", sha256 ",
                                    artifact.sha256()));
    answer.Set("output", Json::Object()
                             .Set("path", output)
                             .Set("sha256", artifact.sha256())
                             .Set("bytes", artifact.size_bytes()));
    if (!session.json()) {
      session.AnswerText(absl::StrCat(output, "\n"));
    }
  }
  if (session.json()) {
    session.Answer(answer);
  }
  return session.ReportOutcome(job);
}

absl::StatusOr<int> RunCompile(const ParsedFlags& flags, Session& session) {
  if (flags.Has("local")) {
    return RunLocalCompiler("compile", flags, CompileFlags(), session);
  }
  const absl::Time begin = absl::Now();
  QB_ASSIGN_OR_RETURN(const absl::Duration timeout,
                      flags.GetDuration("timeout", absl::InfiniteDuration()));
  if (flags.Has("output")) {
    QB_RETURN_IF_ERROR(CheckOutput(flags.Get("output")));
  }
  QB_ASSIGN_OR_RETURN(const JobPlan plan, PlanJob(flags, session));
  const std::string output = flags.Has("output") ? flags.Get("output") : DefaultOutput(plan.model);
  QB_RETURN_IF_ERROR(CheckOutput(output));
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job submitted, UploadAndSubmit(plan, session));
  const std::string shared = SharedWork(submitted);
  session.view().Say(absl::StrCat("job ", PrintableLine(submitted.id()),
                                  shared.empty() ? "" : absl::StrCat(": ", shared)));
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job job,
                      FollowJob(session, submitted.id(), 0, timeout - (absl::Now() - begin)));
  return Conclude(session, job, output, begin);
}

}  // namespace

const Command& CompileCommand() {
  static const Command command = {
      .name = "compile",
      .usage = "compile MODEL --target-device NAME --calib-data-path PATH [-o FILE] [flags]",
      .summary = "Compile a model on the server and fetch the result",
      .help =
          R"(Uploads what the server does not have yet (files are known by their SHA-256), submits
a job, follows it to its end, downloads the .mxq next to its final name, checks its
digest and renames it. A lost connection is taken up again.

Ctrl-C once leaves the job running and prints how to come back; twice cancels it.

Examples:
  qbc compile net.onnx --target-device aries-rb --calib-data-path samples/
  qbc compile net.onnx -t aries-rb --calib-data-path samples/ -c settings.yaml -o out/net.mxq
  qbc compile net.onnx -t regulus-rb --calib-data-path calib.txt \
      --eval-data test/ --eval-labels labels.csv --json
)",
      .flags = CompileFlags(),
      .run = RunCompile,
  };
  return command;
}

}  // namespace qb::client
