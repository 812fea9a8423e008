// qbc submit: like compile, but does not wait.
#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/job_flags.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "core/base/status_macros.h"

namespace qb::client {
namespace {

absl::StatusOr<int> RunSubmit(const ParsedFlags& flags, Session& session) {
  QB_ASSIGN_OR_RETURN(const JobPlan plan, PlanJob(flags, session));
  QB_ASSIGN_OR_RETURN(const qbc::v1::Job job, UploadAndSubmit(plan, session));
  session.view().Clear();
  if (session.json()) {
    session.Answer(Json::Object().Set("type", "job").Set("job", JobToJson(job)));
  } else {
    session.AnswerText(absl::StrCat(PrintableLine(job.id()), "\n"));
  }
  return 0;
}

}  // namespace

const Command& SubmitCommand() {
  static const Command command = {
      .name = "submit",
      .usage = "submit MODEL --target-device NAME --calib-data-path PATH [flags]",
      .summary = "Submit a compile job and print its id, without waiting",
      .help = R"(Uploads and submits like `qbc compile`, prints the job's id and ends. The job is on
the server's disk by then.

Example:
  id=$(qbc submit net.onnx --target-device aries-rb --calib-data-path samples/)
  qbc wait $id && qbc download $id -o net.mxq
)",
      .flags = JobFlags(),
      .run = RunSubmit,
  };
  return command;
}

}  // namespace qb::client
