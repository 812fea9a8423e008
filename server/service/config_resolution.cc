#include "server/service/config_resolution.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/json.h"
#include "core/config/compile_config.h"
#include "core/config/schema.h"
#include "core/target/target_spec.h"
#include "server/dispatch/compiler_flags.h"

namespace qb::server {
namespace {

constexpr char kFileField[] = "spec.config.file_text";

struct Setting {
  absl::string_view flag;  // as in overrides_json
  absl::string_view path;  // in the configuration
};

// The overrides that are settings; the others concern only the command line.
constexpr auto kSettings = std::to_array<Setting>({
    {"inference-scheme", "inferenceScheme"},
    {"cpu-offload", "cpuOffload"},
    {"use-random-calib", "useRandomCalib"},
});

// Precondition: `text` is empty or a checked JSON object.
void AddOverrides(const std::string& text, ConfigSources& sources) {
  if (text.empty()) {
    return;
  }
  const Json overrides = Json::Parse(text).value_or(Json());
  for (const Setting& setting : kSettings) {
    if (overrides.contains(setting.flag)) {
      sources.overrides.push_back(
          {std::string(setting.path), overrides[setting.flag], absl::StrCat("--", setting.flag)});
    }
  }
}

// A target that only this server knows (--targets) has no schemes that could be checked.
void AddTarget(const std::string& name, ConfigSources& sources) {
  const absl::StatusOr<const TargetSpec*> target = FindTarget(name);
  if (!target.ok()) {
    return;
  }
  sources.target = name;
  for (const CoreMode mode : (*target)->modes) {
    sources.target_schemes.emplace_back(CoreModeName(mode));
  }
  sources.target_schemes.emplace_back("all");
}

// An unknown one is told here, so that the file is still looked at.
void AddPreset(const std::string& name, ConfigSources& sources,
               std::vector<Violation>& violations) {
  std::vector<absl::string_view> known;
  for (const PresetInfo& preset : AllPresets()) {
    known.push_back(preset.name);
  }
  if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) {
    sources.preset = name;
    return;
  }
  constexpr size_t kShownBytes = 100;
  violations.push_back(
      {FailureCode::kConfigError, "spec.config.preset",
       absl::StrCat("there is no preset '", absl::CHexEscape(name.substr(0, kShownBytes)),
                    "'; accepted: ", absl::StrJoin(known, ", "))});
}

// What of `spec` is in such a state that it can be resolved; the rest is a violation.
ConfigSources MakeSources(const qbc::v1::JobSpec& spec, std::vector<Violation>& violations) {
  ConfigSources sources;
  sources.file_text = spec.config().file_text();
  sources.file_name = kFileField;
  AddPreset(spec.config().preset(), sources, violations);
  qbc::v1::JobSpec with_known_preset = spec;
  with_known_preset.mutable_config()->set_preset(sources.preset);
  const absl::Status flags = ResolveCompilerFlags(with_known_preset).status();
  AppendViolations(flags, "spec.config", violations);
  if (flags.ok()) {
    AddOverrides(spec.config().overrides_json(), sources);
  }
  if (spec.device() == "gpu" || spec.device() == "cpu") {
    sources.overrides.push_back({"device", Json(spec.device()), "--device"});
  }
  if (spec.threads() > 0) {
    sources.overrides.push_back(
        {"resourceManagement.threads", Json(int64_t{spec.threads()}), "--threads"});
  }
  AddTarget(spec.target_device(), sources);
  return sources;
}

std::string ToJson(const CompileConfig& config) {
  Json settings = Json::Object();
  for (const FieldDef& field : ConfigFields()) {
    settings.SetNew(field.path, Json::Object()
                                    .Set("value", config.Get(field.path))
                                    .Set("origin", config.Origin(field.path)));
  }
  Json warnings = Json::Array();
  for (const std::string& warning : config.warnings()) {
    warnings.Append(Json(warning));
  }
  for (const char* path : {"modelPaths", "savePaths", "calibDataPaths"}) {
    if (config.Origin(path) != "default") {
      warnings.Append(Json(absl::StrCat(path, " (", config.Origin(path),
                                        "): has no effect on a job, which brings its own files")));
    }
  }
  return Json::Object()
      .Set("config", config.ToGroupedJson())
      .Set("settings", std::move(settings))
      .Set("warnings", std::move(warnings))
      .Dump();
}

// The settings without those that change nothing in the compiled model, the device, and the
// overrides that exist only on the command line.
std::string IdentityJson(const CompileConfig& config, const qbc::v1::JobSpec& spec) {
  Json others = Json::Object();
  const std::string& text = spec.config().overrides_json();
  const Json overrides = text.empty() ? Json::Object() : Json::Parse(text).value_or(Json::Object());
  for (const Json::Member& member : overrides.members()) {
    if (std::none_of(kSettings.begin(), kSettings.end(),
                     [&](const Setting& setting) { return setting.flag == member.first; })) {
      others.Set(member.first, member.second);
    }
  }
  return Json::Object()
      .Set("config", config.ToGroupedJson(/*reduced=*/true))
      .Set("device", config.Get("device"))
      .Set("overrides", std::move(others))
      .Dump();
}

}  // namespace

ResolvedConfig ResolveConfig(const qbc::v1::JobSpec& spec, std::vector<Violation>& violations) {
  const size_t before = violations.size();
  const ConfigSources sources = MakeSources(spec, violations);
  const absl::StatusOr<CompileConfig> config = CompileConfig::Resolve(sources);
  for (const ConfigProblem& problem : ConfigProblemsOf(config.status())) {
    if (!config.ok()) {
      violations.push_back({FailureCodeOf(config.status()),
                            problem.path.empty() ? kFileField : problem.path, problem.text});
    }
  }
  // A path in a file names something on the machine where it was written.
  if (config.ok() && spec.calibration().empty() && !config->Strings("calibDataPaths").empty()) {
    violations.push_back(
        {FailureCode::kConfigError, "calibDataPaths",
         absl::StrCat(
             "a job takes its samples from spec.calibration (--calib-data-path), not from ",
             "paths in a file (", config->Origin("calibDataPaths"), ")")});
  }
  if (violations.size() != before) {
    return ResolvedConfig();
  }
  return ResolvedConfig{ToJson(*config), IdentityJson(*config, spec),
                        config->Get("device").as_string() == "gpu"};
}

}  // namespace qb::server
