#include "server/dispatch/compiler_flags.h"

#include <algorithm>
#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/failure.h"
#include "core/base/json.h"
#include "core/base/status_macros.h"

namespace qb::server {
namespace {

constexpr size_t kMaxValueBytes = 256;
constexpr size_t kMaxRepeats = 64;
constexpr size_t kMostProblems = 50;

enum class FlagKind { kText, kSwitch, kRepeated };

struct OverrideFlag {
  absl::string_view name;
  FlagKind kind;
};

// Everything else on the command line is the server's or the agent's to decide, above all paths.
constexpr auto kOverrideFlags = std::to_array<OverrideFlag>({
    {"backend", FlagKind::kText},
    {"cpu-offload", FlagKind::kSwitch},
    {"inference-scheme", FlagKind::kText},
    {"input-shape", FlagKind::kRepeated},
    {"require-device", FlagKind::kSwitch},
    {"use-random-calib", FlagKind::kSwitch},
});

absl::Status BadOverride(absl::string_view name, absl::string_view problem) {
  return Failure(FailureCode::kConfigError,
                 absl::StrCat("spec.config.overrides_json: '", name, "': ", problem));
}

// A value must not be taken for a flag, nor break a log line.
absl::Status CheckValue(absl::string_view name, absl::string_view value) {
  const bool printable = std::all_of(value.begin(), value.end(),
                                     [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (value.empty() || value.size() > kMaxValueBytes || value[0] == '-' || !printable) {
    return BadOverride(name, absl::StrCat("expected 1 to ", kMaxValueBytes,
                                          " printable bytes that do not begin with '-'"));
  }
  return absl::OkStatus();
}

absl::Status AddValue(absl::string_view name, const std::string& value,
                      std::vector<std::string>& flags) {
  QB_RETURN_IF_ERROR(CheckValue(name, value));
  flags.push_back(absl::StrCat("--", name));
  flags.push_back(value);
  return absl::OkStatus();
}

absl::Status AddValues(absl::string_view name, const Json& values,
                       std::vector<std::string>& flags) {
  if (!values.is_array() || values.items().size() > kMaxRepeats) {
    return BadOverride(name, absl::StrCat("expected an array of up to ", kMaxRepeats, " strings"));
  }
  for (const Json& item : values.items()) {
    if (!item.is_string()) {
      return BadOverride(name, "expected an array of strings");
    }
    QB_RETURN_IF_ERROR(AddValue(name, item.as_string(), flags));
  }
  return absl::OkStatus();
}

absl::Status AddOverride(const OverrideFlag& flag, const Json& value,
                         std::vector<std::string>& flags) {
  switch (flag.kind) {
    case FlagKind::kSwitch:
      if (!value.is_bool()) {
        return BadOverride(flag.name, "expected true or false");
      }
      flags.push_back(absl::StrCat(value.as_bool() ? "--" : "--no-", flag.name));
      return absl::OkStatus();
    case FlagKind::kText:
      if (!value.is_string()) {
        return BadOverride(flag.name, "expected a string");
      }
      return AddValue(flag.name, value.as_string(), flags);
    case FlagKind::kRepeated:
      return AddValues(flag.name, value, flags);
  }
  return absl::OkStatus();
}

absl::Status AddMember(const std::string& name, const Json& value,
                       std::vector<std::string>& flags) {
  const auto flag = std::find_if(kOverrideFlags.begin(), kOverrideFlags.end(),
                                 [&](const OverrideFlag& row) { return row.name == name; });
  if (flag != kOverrideFlags.end()) {
    return AddOverride(*flag, value, flags);
  }
  constexpr size_t kShownBytes = 100;
  return BadOverride(absl::CHexEscape(name.substr(0, kShownBytes)),
                     absl::StrCat("not an override; accepted are ",
                                  absl::StrJoin(kOverrideFlags, ", ",
                                                [](std::string* out, const OverrideFlag& row) {
                                                  absl::StrAppend(out, row.name);
                                                })));
}

// Errors: CONFIG_ERROR, a line each.
absl::Status AddOverrides(const std::string& text, std::vector<std::string>& flags) {
  if (text.empty()) {
    return absl::OkStatus();
  }
  const absl::StatusOr<Json> overrides = Json::Parse(text, /*max_depth=*/4);
  if (!overrides.ok()) {
    return Failure(FailureCode::kConfigError,
                   absl::StrCat("spec.config.overrides_json: ", overrides.status().message()));
  }
  if (!overrides->is_object()) {
    return Failure(FailureCode::kConfigError, "spec.config.overrides_json: expected a JSON object");
  }
  std::vector<std::string> problems;
  for (const Json::Member& member : overrides->members()) {
    const absl::Status status = AddMember(member.first, member.second, flags);
    if (!status.ok() && problems.size() < kMostProblems) {
      problems.emplace_back(status.message());
    }
  }
  return problems.empty() ? absl::OkStatus()
                          : Failure(FailureCode::kConfigError, absl::StrJoin(problems, "\n"));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ResolveCompilerFlags(const qbc::v1::JobSpec& spec) {
  std::vector<std::string> flags = {"--target-device", spec.target_device()};
  if (!spec.config().preset().empty()) {
    if (!CheckValue("", spec.config().preset()).ok()) {
      return Failure(FailureCode::kConfigError, "spec.config.preset: not the name of a preset");
    }
    flags.insert(flags.end(), {"--config-preset", spec.config().preset()});
  }
  if (!spec.device().empty()) {
    flags.insert(flags.end(), {"--device", spec.device()});
  }
  if (spec.threads() > 0) {
    flags.insert(flags.end(), {"--threads", absl::StrCat(spec.threads())});
  }
  QB_RETURN_IF_ERROR(AddOverrides(spec.config().overrides_json(), flags));
  return flags;
}

absl::StatusOr<qbc::v1::Assignment> MakeAssignment(const LeasedAttempt& leased) {
  QB_ASSIGN_OR_RETURN(const std::vector<std::string> flags, ResolveCompilerFlags(leased.spec));
  qbc::v1::Assignment assignment;
  assignment.mutable_key()->set_execution_id(leased.attempt.key.execution);
  assignment.mutable_key()->set_attempt(leased.attempt.key.attempt);
  assignment.mutable_key()->set_fence(leased.attempt.key.fence);
  assignment.set_job_id(leased.job_id);
  assignment.set_traceparent(leased.traceparent);
  *assignment.mutable_model() = leased.spec.model();
  *assignment.mutable_calibration() = leased.spec.calibration();
  *assignment.mutable_evaluation() = leased.spec.evaluation();
  assignment.set_evaluation_labels(leased.spec.evaluation_labels());
  assignment.set_config_text(leased.spec.config().file_text());
  for (const std::string& flag : flags) {
    assignment.add_compiler_flags(flag);
  }
  *assignment.mutable_run_timeout() = leased.spec.run_timeout();
  assignment.set_kind(leased.spec.kind());
  assignment.set_threads(leased.spec.threads());
  assignment.set_gpus(static_cast<int32_t>(leased.gpus));
  assignment.mutable_limits()->set_memory_bytes(leased.spec.resources().memory_bytes());
  assignment.mutable_limits()->set_scratch_bytes(leased.spec.resources().scratch_bytes());
  return assignment;
}

}  // namespace qb::server
