#include "server/service/config_resolution.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/json.h"
#include "core/base/status_macros.h"
#include "core/config/compile_config.h"

namespace qb::server {
namespace {

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

}  // namespace

absl::StatusOr<std::string> ResolveConfigJson(const qbc::v1::JobSpec& spec) {
  ConfigSources sources;
  sources.preset = spec.config().preset();
  sources.file_text = spec.config().file_text();
  sources.file_name = "spec.config.file_text";
  if (!spec.device().empty()) {
    sources.overrides.push_back({"device", Json(spec.device()), "--device"});
  }
  if (!spec.config().overrides_json().empty()) {
    QB_ASSIGN_OR_RETURN(const Json overrides, Json::Parse(spec.config().overrides_json()));
    for (const Setting& setting : kSettings) {
      if (overrides.contains(setting.flag)) {
        sources.overrides.push_back(
            {std::string(setting.path), overrides[setting.flag], absl::StrCat("--", setting.flag)});
      }
    }
  }
  QB_ASSIGN_OR_RETURN(const CompileConfig config, CompileConfig::Resolve(sources));
  Json result = Json::Object();
  result.Set("config", config.ToGroupedJson());
  Json origins = Json::Object();
  // The value is a copy of ours: members() of a temporary would not live through the loop.
  const Json all_origins = config.Origins();
  for (const auto& [path, origin] : all_origins.members()) {
    if (origin.as_string() != "default") {
      origins.Set(path, origin);
    }
  }
  result.Set("origins", std::move(origins));
  if (!config.warnings().empty()) {
    Json warnings = Json::Array();
    for (const std::string& warning : config.warnings()) {
      warnings.Append(Json(warning));
    }
    result.Set("warnings", std::move(warnings));
  }
  return result.Dump();
}

}  // namespace qb::server
