#include "absl/strings/str_format.h"

#include "core/config/compile_config.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

absl::Status Run(CommandContext& context) {
  Json list = Json::Array();
  std::string text;
  for (const PresetInfo& preset : AllPresets()) {
    list.Append(Json::Object()
                    .Set("name", preset.name)
                    .Set("extends", preset.extends)
                    .Set("meaning", preset.meaning));
    absl::StrAppendFormat(&text, "%-26s %s\n", preset.name, preset.meaning);
  }
  context.reporter.Result(Json::Object().Set("presets", std::move(list)), text);
  return absl::OkStatus();
}

}  // namespace

const Command& PresetsCommand() {
  static constexpr Command kCommand = {
      "presets",
      "settings by name",
      "Lists the presets that --config-preset accepts. Example: qbcompiler presets",
      {},
      Run};
  return kCommand;
}

}  // namespace qb::worker
