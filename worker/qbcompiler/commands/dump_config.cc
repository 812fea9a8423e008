#include <array>

#include "absl/strings/match.h"

#include "core/base/atomic_file.h"
#include "core/base/failure.h"
#include "core/base/status_macros.h"
#include "core/config/compile_config.h"
#include "core/config/json_schema.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

constexpr auto kFlags = std::to_array<FlagDef>({
    {"output", 'o', FlagKind::kValue, "FILE",
     ".yaml, .yml: YAML; anything else JSON; default: "
     "YAML on stdout"},
    {"preset", 0, FlagKind::kValue, "NAME", "start from this preset instead of the defaults"},
    {"schema", 0, FlagKind::kSwitch, "", "write the JSON Schema of settings files instead"},
    {"reference", 0, FlagKind::kSwitch, "", "write the reference page (Markdown) instead"},
});

absl::StatusOr<Json> Settings(const std::string& preset) {
  ConfigSources sources;
  sources.preset = preset;
  sources.for_dump = true;
  QB_ASSIGN_OR_RETURN(const CompileConfig config, CompileConfig::Resolve(sources));
  return config.ToGroupedJson();
}

absl::Status Run(CommandContext& context) {
  const std::string path = context.flags.Get("output");
  Json tree;
  std::string text;
  if (context.flags.Has("reference")) {
    text = ConfigReferencePage();
    tree = Json(text);
  } else if (context.flags.Has("schema")) {
    tree = ConfigJsonSchema();
    text = tree.Dump(2) + "\n";
  } else {
    QB_ASSIGN_OR_RETURN(tree, Settings(context.flags.Get("preset")));
    const bool yaml = path.empty() || absl::EndsWith(path, ".yaml") || absl::EndsWith(path, ".yml");
    text = yaml ? JsonToYaml(tree) : tree.Dump(2) + "\n";
  }
  if (path.empty()) {
    context.reporter.Result(Json::Object().Set("config", tree), text);
    return absl::OkStatus();
  }
  QB_RETURN_IF_ERROR(
      WithFailureCode(WriteFileAtomically(path, text), FailureCode::kOutputWriteError));
  context.reporter.Result(
      Json::Object().Set("outputs", Json::Array().Append(Json::Object().Set("path", path))), "");
  return absl::OkStatus();
}

}  // namespace

const Command& DumpConfigCommand() {
  static constexpr Command kCommand = {
      "dump-config", "a settings file with every field",
      "Writes all settings with their values, ready to be edited and "
      "given back with --compile-config. Example: qbcompiler dump-config --preset classification "
      "--output settings.yaml",
      kFlags, Run};
  return kCommand;
}

}  // namespace qb::worker
