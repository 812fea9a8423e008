// qbc validate: what the server would say to a job, without submitting it.
#include <array>
#include <vector>

#include "absl/strings/str_cat.h"

#include "client/cli/command.h"
#include "client/cli/exit_code.h"
#include "client/cli/job_flags.h"
#include "client/cli/json_form.h"
#include "client/cli/printable.h"
#include "client/cli/settings_text.h"
#include "core/base/status_macros.h"
#include "proto/qbc/v1/job_service.pb.h"

namespace qb::client {
namespace {

constexpr auto kOwnFlags = std::to_array<FlagDef>({
    {"settings", 0, FlagKind::kSwitch, "",
     "Show every setting that would apply, with where its value comes from."},
});

absl::Span<const FlagDef> ValidateFlags() {
  static const std::vector<FlagDef> flags = [] {
    std::vector<FlagDef> all(kOwnFlags.begin(), kOwnFlags.end());
    all.insert(all.end(), JobFlags().begin(), JobFlags().end());
    return all;
  }();
  return flags;
}

std::string Text(const qbc::v1::ValidateJobResponse& response, bool settings) {
  std::string text;
  for (const qbc::v1::FieldViolation& violation : response.violations()) {
    absl::StrAppend(&text, PrintableLine(violation.field()), ": ",
                    PrintableLine(violation.description()), " [", PrintableLine(violation.reason()),
                    "]\n");
  }
  if (response.violations().empty()) {
    absl::StrAppend(&text, settings ? SettingsTable(response.resolved_config_json()) : "valid\n");
  }
  return text;
}

Json AnswerOf(const qbc::v1::ValidateJobResponse& response) {
  Json violations = Json::Array();
  for (const qbc::v1::FieldViolation& violation : response.violations()) {
    violations.Append(ViolationToJson(violation));
  }
  Json answer = Json::Object();
  answer.Set("type", "validation")
      .Set("valid", response.violations().empty())
      .Set("violations", std::move(violations));
  if (absl::StatusOr<Json> config = Json::Parse(response.resolved_config_json()); config.ok()) {
    answer.Set("config", *std::move(config));
  }
  return answer;
}

absl::StatusOr<int> RunValidate(const ParsedFlags& flags, Session& session) {
  qbc::v1::ValidateJobRequest request;
  QB_ASSIGN_OR_RETURN(*request.mutable_spec(), PlanValidation(flags, session));
  QB_ASSIGN_OR_RETURN(Connection * connection, session.connection());
  QB_ASSIGN_OR_RETURN(const qbc::v1::ValidateJobResponse response,
                      connection->ValidateJob(request));
  if (response.violations().empty()) {
    QB_RETURN_IF_ERROR(
        SaveSettings(response.resolved_config_json(), flags.Get("config-save-path")));
  }
  session.view().Clear();
  if (session.json()) {
    session.Answer(AnswerOf(response));
  } else {
    session.AnswerText(Text(response, flags.Has("settings")));
  }
  return response.violations().empty() ? kExitOk : kExitInvalidInput;
}

}  // namespace

const Command& ValidateCommand() {
  static const Command command = {
      .name = "validate",
      .usage = "validate [MODEL] [--target-device NAME] [-c FILE] [flags]",
      .summary = "Check the settings of a job on the server, without submitting it",
      .help = R"(Prints everything that is wrong, a line each: the field, what was found and what is
accepted. Nothing is uploaded or stored. The flags are those of `qbc submit`; a model
or a target that is not named is not checked. Whether the NPU runs the model's layers
is what `qbcompiler validate` tells.

Exit code 0 when the server would accept the job, 10 when not.

Examples:
  qbc validate -c settings.yaml
  qbc validate net.onnx -t aries-rb --calib-data-path samples/ -c settings.yaml --settings
)",
      .flags = ValidateFlags(),
      .run = RunValidate,
  };
  return command;
}

}  // namespace qb::client
