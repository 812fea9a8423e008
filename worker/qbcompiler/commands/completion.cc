#include "core/base/failure.h"
#include "core/base/shell_completion.h"
#include "core/base/status_macros.h"
#include "core/config/compile_config.h"
#include "core/frontends/all_frontends.h"
#include "core/target/target_spec.h"
#include "worker/qbcompiler/command.h"

namespace qb::worker {
namespace {

CompletedProgram Program() {
  CompletedProgram program;
  program.name = "qbcompiler";
  for (const Command& command : AllCommands()) {
    CompletedCommand& completed = program.commands.emplace_back();
    completed.name = command.name;
    completed.summary = command.summary;
    completed.flags.assign(command.flags.begin(), command.flags.end());
    if (command.positional == "SHELL") {
      completed.words = {"bash", "zsh", "fish"};
    }
  }
  std::vector<std::string> targets, presets, backends;
  for (const TargetSpec& target : AllTargets()) {
    targets.push_back(target.name);
  }
  for (const PresetInfo& preset : AllPresets()) {
    presets.emplace_back(preset.name);
  }
  for (const Frontend& frontend : AllFrontends()) {
    if (frontend.import != nullptr) {
      backends.emplace_back(frontend.name);
    }
  }
  program.values = {{"target-device", targets},
                    {"config-preset", presets},
                    {"preset", presets},
                    {"backend", backends},
                    {"core-mode", {"single", "multi", "global4", "global8"}},
                    {"inference-scheme", {"single", "multi", "global4", "global8", "all"}}};
  return program;
}

absl::Status Run(CommandContext& context) {
  const std::vector<std::string>& words = context.flags.positionals();
  if (words.empty()) {
    return Failure(FailureCode::kArgumentError, "SHELL is missing; accepted: bash, zsh, fish");
  }
  QB_ASSIGN_OR_RETURN(const std::string script, CompletionScript(words[0], Program()));
  context.reporter.Result(Json::Object().Set("script", script), script);
  return absl::OkStatus();
}

}  // namespace

const Command& CompletionCommand() {
  static constexpr Command kCommand = {
      "completion",
      "completion of commands, flags and their values in a shell",
      "Prints a script for bash, zsh or fish. Example: eval \"$(qbcompiler completion bash)\"",
      {},
      Run,
      "SHELL"};
  return kCommand;
}

}  // namespace qb::worker
